"""Which part of a table a batch can concern: ranges of its leading key column.

Table formats know the least and the greatest value of a column in each file. A MERGE whose
condition names ranges reads only the files that overlap them; one that only compares keys reads
them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from headwater.spark.sql import literal, quoted
from headwater.spark.table.target import Ranges, Standing

EVERYWHERE = "true"
# Below so many files, finding the ranges takes longer than reading them all.
_WORTH_FILES = 8
_FEW_KEYS = 1000
_MOST_RANGES = 8
_LONGEST_TEXT = 200

# Types whose order is plain, and how a value of them is written. Floats have NaN.
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "smallint": lambda value: f"{value}S",
    "int": str,
    "bigint": lambda value: f"{value}L",
    "date": lambda value: f"DATE'{value}'",
    "string": literal,
}


class RowsReach:
    """Implements Reach for rows that are worked out once: for this, and for who writes them."""

    def __init__(self, rows: DataFrame, key: Sequence[str], standing: Standing) -> None:
        self._rows = rows
        self._name = key[0]
        self._written = _WRITTEN.get(rows.schema[key[0]].dataType.simpleString())
        self._is_worth = standing.files >= _WORTH_FILES and self._written is not None
        self._facts: Row | None = None
        self._ranges: Ranges | None = None

    def count(self) -> int:
        """How many rows there are."""
        return int(self._looked()["count"])

    def ranges(self) -> Ranges:
        """Ranges of the leading key that hold every row's; none if it may be anywhere."""
        if not self._is_worth:
            return []
        if self._ranges is None:
            self._ranges = self._found()
        return self._ranges

    def condition(self) -> str:
        """The same as a condition over `t`."""
        ranges = self.ranges()
        return (
            EVERYWHERE if self._written is None else _condition(ranges, self._name, self._written)
        )

    def forget(self) -> None:
        """Let go of the rows."""
        if self._rows.is_cached:
            self._rows.unpersist()

    def _found(self) -> Ranges:
        """None at all if a key is NULL: that matches NULL, which no range holds."""
        facts = self._looked()
        if facts["nulls"] or not facts["count"]:
            return []
        if facts["count"] > _FEW_KEYS:
            ranges = [(facts["least"], facts["greatest"])]
        else:
            ranges = spans(sorted({row["key"] for row in self._keys().collect()}), _MOST_RANGES)
        ends = (end for each in ranges for end in each)
        long = any(isinstance(end, str) and len(end) > _LONGEST_TEXT for end in ends)
        return [] if long else ranges

    def _keys(self) -> DataFrame:
        return self._rows.select(f.col(quoted(self._name)).alias("key"))

    def _looked(self) -> Row:
        if self._facts is None:
            self._rows.persist()
            counted = f.count_if(f.lit(True)).alias("count")  # noqa: FBT003
            (self._facts,) = (
                self._keys()
                .agg(
                    counted,
                    f.min("key").alias("least"),
                    f.max("key").alias("greatest"),
                    f.count_if(f.col("key").isNull()).alias("nulls"),
                )
                .collect()
            )
        return self._facts


@contextmanager
def pruned(rows: DataFrame, key: Sequence[str], standing: Standing) -> Iterator[RowsReach]:
    """Which part of a table the rows can concern; found out when it is asked for."""
    reach = RowsReach(rows, key, standing)
    try:
        yield reach
    finally:
        reach.forget()


def spans(keys: Sequence[Any], most: int) -> Ranges:
    """Ranges that hold all of these sorted keys, cut where the gaps between them are widest.

    A new row at one end of a table and an old one at the other shall not cover all of it. Between
    texts there is no distance: they are told one by one, or as one range.
    """
    if isinstance(keys[0], str):
        return [(key, key) for key in keys] if len(keys) <= most else [(keys[0], keys[-1])]
    gaps = sorted(range(1, len(keys)), key=lambda at: keys[at] - keys[at - 1], reverse=True)
    cuts = [0, *sorted(gaps[: most - 1]), len(keys)]
    return [(keys[begin], keys[end - 1]) for begin, end in pairwise(cuts)]


def _condition(ranges: Ranges, name: str, written: Callable[[Any], str]) -> str:
    if not ranges:
        return EVERYWHERE
    column = f"t.{quoted(name)}"
    told = [f"{column} BETWEEN {written(low)} AND {written(high)}" for low, high in ranges]
    return f"({' OR '.join(told)})"
