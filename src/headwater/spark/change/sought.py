"""Keys that are looked for in a table: few go to every executor, so that it need not be sorted."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_FEW = 500_000


def sought(keys: DataFrame, count: int) -> DataFrame:
    """The keys, ready to be joined with the table."""
    return f.broadcast(keys) if count <= _FEW else keys
