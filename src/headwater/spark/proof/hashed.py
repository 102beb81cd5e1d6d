"""A table as hashes, added up by Spark: only ranges, and few rows, come to the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from headwater.event import Column, Kind, LogicalType, TableSchema
from headwater.spark.proof.encoding import row_hash, text_of
from headwater.spark.proof.rows import key_value
from headwater.spark.sql import quoted
from headwater.spark.table.layout import PREFIX

# No column of a source begins so.
_PLACE, _HASH, _TEXT = f"{PREFIX}place", f"{PREFIX}hash", f"{PREFIX}text_"
_TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_WORD_DIGITS = 8
_WORDS = 4

RangeFacts = tuple[str, int, int]
RowFacts = tuple[str, str, dict[str, Any], int]


class HashedRows:
    """The rows of a frame, each with its place and its hash."""

    def __init__(
        self, frame: DataFrame, schema: TableSchema, without: Collection[str] = ()
    ) -> None:
        columns = [_as_kept(frame, column) for column in schema.columns]
        by_name = {column.name: column for column in columns}
        self._key = [by_name[name] for name in schema.primary_key]
        held = {each.name: each.dataType.simpleString() for each in frame.schema}
        texts = {column.name: text_of(column, held[column.name]) for column in columns}
        key = {column.name: texts[column.name] for column in self._key}
        rows = frame.select(
            *(f.col(quoted(column.name)) for column in self._key),
            row_hash(key or texts).alias(_PLACE),
            row_hash(texts).alias(_HASH),
        )
        self._rows = _joined(rows, without, "left_anti") if without else rows
        self._texts = frame.select(
            row_hash(key or texts).alias(_PLACE),
            *(texts[name].alias(f"{_TEXT}{name}") for name in texts),
        )

    def ranges(self, digits: int, within: Collection[str] | None = None) -> Iterator[RangeFacts]:
        """Each range of so many digits with the number of its rows and the sum of their hashes."""
        rows = self._rows if within is None else self._rows.where(_in_any(within))
        found = rows.groupBy(f.substring(_PLACE, 1, digits).alias("name")).agg(
            f.count("*").alias("rows"), *(f.sum(_word(place)) for place in range(_WORDS))
        )
        for name, count, *sums in found.toLocalIterator():
            yield name, count, reduce(lambda total, word: (total << 32) + word, sums, 0)

    def rows(self, ranges: Collection[str]) -> Iterator[RowFacts]:
        """The rows of these ranges: place, hash, key, and how many such there are."""
        names = [quoted(column.name) for column in self._key]
        found = self._rows.where(_in_any(ranges)).groupBy(_PLACE, _HASH, *names).count()
        for place, each_hash, *key, count in found.toLocalIterator():
            values = zip(self._key, key, strict=True)
            yield place, each_hash, {c.name: key_value(v, c) for c, v in values}, count

    def texts(
        self, places: Collection[str], columns: Collection[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        """Of the rows at these places, the texts of these columns that the table has, row by row.

        They may be long: no more than a part of the table comes to the driver at a time.
        """
        names = [name for name in columns if f"{_TEXT}{name}" in self._texts.columns]
        chosen = self._texts.select(_PLACE, *(quoted(f"{_TEXT}{name}") for name in names))
        for place, *texts in _joined(chosen, places, "left_semi").toLocalIterator():
            told = zip(names, texts, strict=True)
            yield place, {name: text for name, text in told if text is not None}


def _joined(rows: DataFrame, places: Collection[str], how: str) -> DataFrame:
    """The rows at these places, or the others."""
    meant = pa.table({_PLACE: pa.array(sorted(places), pa.string())})
    return rows.join(f.broadcast(rows.sparkSession.createDataFrame(meant)), _PLACE, how)


def _as_kept(frame: DataFrame, column: Column) -> Column:
    """A column whose values a table keeps as text is that text, whatever the source calls it."""
    kept = frame.schema[column.name].dataType
    textual = isinstance(kept, StringType) and column.type.kind in _TIMES
    return replace(column, type=LogicalType(Kind.STRING)) if textual else column


def _word(place: int) -> SparkColumn:
    """32 bits of the hash: sums of them stay exact, of as many rows as there can be."""
    digits = f.substring(_HASH, place * _WORD_DIGITS + 1, _WORD_DIGITS)
    return f.conv(digits, 16, 10).cast("bigint")


def _in_any(ranges: Collection[str]) -> SparkColumn:
    by_length: dict[int, list[str]] = defaultdict(list)
    for each in ranges:
        by_length[len(each)].append(each)
    chosen = [f.substring(_PLACE, 1, length).isin(names) for length, names in by_length.items()]
    return reduce(lambda one, other: one | other, chosen, f.lit(False))  # noqa: FBT003
