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

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.spark.sql import literal, quoted
from headwater.spark.table.target import Standing

EVERYWHERE = "true"
# Below so many files, finding the ranges takes longer than reading them all.
_WORTH_FILES = 8
_FEW_KEYS = 1000
_MOST_RANGES = 8
_LONGEST_TEXT = 200

Ranges = list[tuple[Any, Any]]
# Types whose order is plain, and how a value of them is written. Floats have NaN.
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "smallint": lambda value: f"{value}S",
    "int": str,
    "bigint": lambda value: f"{value}L",
    "date": lambda value: f"DATE'{value}'",
    "string": literal,
}


@contextmanager
def pruned(rows: DataFrame, key: Sequence[str], standing: Standing) -> Iterator[Callable[[], str]]:
    """Who calls it gets a condition over `t` that every row with one of these keys fulfils.

    The rows are worked out once, for the condition and for the statement that has it. A target that
    needs no statement asks for none.
    """
    written = _WRITTEN.get(rows.schema[key[0]].dataType.simpleString())
    found: list[str] = [EVERYWHERE] if standing.files < _WORTH_FILES or written is None else []

    def within() -> str:
        if not found and written is not None:
            rows.persist()
            found.append(_condition(_ranges(rows, key[0]), key[0], written))
        return found[0]

    try:
        yield within
    finally:
        if rows.is_cached:
            rows.unpersist()


def _ranges(rows: DataFrame, name: str) -> Ranges:
    """None at all if a key is NULL: that matches NULL, which no range holds."""
    column = f.col(quoted(name))
    keys = rows.select(column.alias("key"))
    found = keys.agg(
        f.min("key").alias("least"),
        f.max("key").alias("greatest"),
        f.count_if(f.col("key").isNull()).alias("nulls"),
        f.count_if(f.lit(True)).alias("count"),  # noqa: FBT003
    ).first()
    if found is None or found["nulls"] or not found["count"]:
        return []
    if found["count"] > _FEW_KEYS:
        return [(found["least"], found["greatest"])]
    return spans(sorted({row["key"] for row in keys.collect()}), _MOST_RANGES)


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
    ends = [end for each in ranges for end in each]
    if not ends or any(isinstance(end, str) and len(end) > _LONGEST_TEXT for end in ends):
        return EVERYWHERE
    column = f"t.{quoted(name)}"
    told = [f"{column} BETWEEN {written(low)} AND {written(high)}" for low, high in ranges]
    return f"({' OR '.join(told)})"
