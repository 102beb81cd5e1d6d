"""How much a micro-batch may take, as Spark says it: from 4.2 on, and what stands in for it before.

Spark 4.1 asks a Python source only for its newest offset, without a start and without a limit. What
is there is then taken whole, and the words below only let the same classes be declared.
"""

from __future__ import annotations

import json
from ast import literal_eval
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

SPARK_LIMITS = find_spec("pyspark.sql.streaming.datasource") is not None

if TYPE_CHECKING or SPARK_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
else:

    class ReadLimit:
        """No limit is ever asked for."""

    class ReadAllAvailable(ReadLimit):
        """Everything."""

    class ReadMaxRows(ReadLimit):
        """So many rows."""

        def __init__(self, max_rows: int) -> None:
            self.max_rows = max_rows

    class ReadMaxBytes(ReadLimit):
        """So many bytes."""

        def __init__(self, max_bytes: int) -> None:
            self.max_bytes = max_bytes

    class SupportsTriggerAvailableNow:
        """Spark 4.1 fixes the end of such a run by itself."""


def offset_of(progress: str) -> dict[str, Any]:
    """An offset as a query's progress shows it: JSON, before 4.2 the way Python shows a dict."""
    found: dict[str, Any] = json.loads(progress) if SPARK_LIMITS else literal_eval(progress)
    return found


def sequence_of(offset: str | None) -> int | None:
    """The sequence number of an offset in a log, as Spark shows it."""
    try:
        return None if offset is None else int(offset_of(offset)["sequence"])
    except (ValueError, KeyError, TypeError, SyntaxError):
        return None


__all__ = [
    "SPARK_LIMITS",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "offset_of",
    "sequence_of",
]
