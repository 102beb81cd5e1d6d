"""Events in the order of their commits, and which functions need all of a batch before them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headwater.errors import ConfigError


def in_order(frame: DataFrame) -> DataFrame:
    """The events by sequence number, which is the order of their commits (INV-8)."""
    return require_batch(frame, "in_order").orderBy("sequence_number")


def require_batch(frame: DataFrame, function: str) -> DataFrame:
    """The frame; a stream is refused here, in words that name the function."""
    if frame.isStreaming:
        raise ConfigError("spark-batch-only", f"{function} needs a batch, and this is a stream")
    return frame
