"""A Parquet file of typed rows, and what a table's log says of it, without Spark's own writer.

The statistics are those that Delta collects: a reader leaves a file out whose bounds exclude what
it looks for, so a bound that is not exact may only be too wide.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# As many columns, and characters of a text, as Delta takes by default.
_MOST_COLUMNS = 32
_LONGEST = 32
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file by its name in the folder, its statistics, and the bounds of a key without doubles."""

    path: str
    size: int
    rows: int
    stats: str
    least: str | None
    greatest: str | None


def write_file(rows: pa.Table, folder: Path, distinct: str | None) -> DataFile:
    """Write rows to a new file; `distinct` is the column whose bounds are wanted."""
    path = folder / f"part-{uuid4()}.parquet"
    pq.write_table(
        rows, path, compression="snappy", row_group_size=1 << 20, store_decimal_as_integer=True
    )
    least, greatest = (None, None) if distinct is None else _bounds(rows.column(distinct))
    return DataFile(
        path.name, path.stat().st_size, rows.num_rows, statistics(rows), least, greatest
    )


def _bounds(key: pa.ChunkedArray) -> tuple[str | None, str | None]:
    """The first and the last value as JSON; None if one is there twice."""
    if key.null_count or pc.count_distinct(key).as_py() != len(key):
        return None, None
    ends = pc.min_max(key).as_py()
    return json.dumps(ends["min"]), json.dumps(ends["max"])


def statistics(rows: pa.Table) -> str:
    """Counts and bounds as Delta writes them."""
    least: dict[str, str] = {}
    greatest: dict[str, str] = {}
    names = rows.column_names[:_MOST_COLUMNS]
    for name in names:
        column = rows.column(name)
        if pa.types.is_boolean(column.type) or column.null_count == len(column):
            continue
        ends = pc.min_max(column).as_py()
        low, high = _literal(ends["min"], _cut), _literal(ends["max"], _cut_above)
        if low is not None:
            least[name] = low
        if high is not None:
            greatest[name] = high
    nulls = {name: str(rows.column(name).null_count) for name in names}
    return (
        f'{{"numRecords":{rows.num_rows},"minValues":{_object(least)},'
        f'"maxValues":{_object(greatest)},"nullCount":{_object(nulls)}}}'
    )


def _object(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"


def _literal(value: Any, cut: Callable[[str], str | None]) -> str | None:
    """A bound as JSON. Times lose what is below a millisecond; readers know that."""
    match value:
        case str():
            kept = cut(value)
            return None if kept is None else json.dumps(kept)
        case datetime():
            text = value.replace(tzinfo=None).isoformat(timespec="milliseconds")
            return json.dumps(text if value.tzinfo is None else f"{text}Z")
        case date():
            return json.dumps(value.isoformat())
        case Decimal():
            return f"{value:f}"
        case _:
            return json.dumps(value)


def _cut(text: str) -> str:
    return text[:_LONGEST]


def _cut_above(text: str) -> str | None:
    """A prefix with a last character that no other follows; None if the text itself has that."""
    if len(text) <= _LONGEST:
        return text
    return None if _LAST_CHARACTER in text else text[:_LONGEST] + _LAST_CHARACTER
