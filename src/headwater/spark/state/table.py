"""The table `headwater_state`, below the target beside Spark's checkpoint.

A row per table and mode that a batch changed; a table without a row in a batch stands as its last
row says. A batch that changed no table has one row without a table. The rows of a batch are one
commit. It carries no position of its own: what a late writer adds is true at its own sequence
number anyway.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from headwater.event import TableId
from headwater.spark.modes import Mode
from headwater.spark.state.columns import COLUMNS
from headwater.spark.state.entry import LEFT, Entry
from headwater.spark.state.store import Store

_TIMES = ("committed_at", "applied_at")
_TYPES = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_ARROW = pa.schema([(name, _TYPES[kind]) for name, kind in COLUMNS.items()])


@dataclass(frozen=True, slots=True)
class Writer:
    """Whose rows they are: sequence numbers of different logs mean different events."""

    log_id: str
    consumer: str


@dataclass(frozen=True, slots=True)
class Written:
    """The end of the last batch that was written down, 0 before the first, and the last entries."""

    until: int = 0
    last: tuple[Entry, ...] = ()


class StateTable:
    """The rows of one writer."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    def version(self) -> int:
        """The table's version, -1 if there is no table; no job is run for it."""
        return self._store.version()

    def rows(self) -> DataFrame:
        """The rows of this writer; one frame shows one version of the table, however often read."""
        held = self._store.frame()
        ours = (f.col("log") == self._writer.log_id) & (f.col("consumer") == self._writer.consumer)
        return held.where(ours)

    def written(self) -> Written:
        """What this writer has written down so far."""
        if self.version() < 0:
            return Written()
        found = _newest(self.rows())
        until = max((row["sequence"] for row in found), default=0)
        return Written(until, tuple(_entry(row) for row in found if row["table"] is not None))

    def append(self, entries: Sequence[Entry], until: int, *, published: bool) -> int:
        """Write the rows of the batch that ends at `until`; returns the table's version then."""
        told = [self._told(entry) for entry in entries]
        if not any(entry.sequence == until for entry in entries):
            told.append(self._bare(until, published=published))
        return self._store.append(pa.Table.from_pylist(told, _ARROW), until)

    def _told(self, entry: Entry) -> dict[str, Any]:
        return {
            "sequence": entry.sequence,
            "schema": entry.table.schema,
            "table": entry.table.name,
            "mode": entry.mode,
            "path": entry.path,
            "version": entry.version,
            "applied": entry.applied,
            "published": entry.published,
            "committed_at": entry.committed_at_us,
            "applied_at": entry.applied_at_us,
            **self._signed(),
        }

    def _bare(self, until: int, *, published: bool) -> dict[str, Any]:
        """The row of a batch that changed no table."""
        now = time.time_ns() // 1000
        told = {"sequence": until, "published": published, "applied_at": now}
        return {**told, **self._signed()}

    def _signed(self) -> dict[str, Any]:
        return {"log": self._writer.log_id, "consumer": self._writer.consumer}


def last_entries(rows: DataFrame, until: int | None = None) -> list[Entry]:
    """The last entry of each table among the rows."""
    within = rows if until is None else rows.where(f.col("sequence") <= until)
    return [_entry(row) for row in _newest(within) if row["table"] is not None]


def _newest(rows: DataFrame) -> list[Row]:
    """The last row of each table, and the last that has none.

    Of two at one number, the one of a table that is kept counts and not the one that says it left.
    """
    order = f.struct("sequence", f.col("version") != LEFT, "applied")
    micros = [f.unix_micros(name).alias(name) for name in _TIMES]
    plain = [name for name in COLUMNS if name not in _TIMES]
    newest = rows.groupBy("schema", "table", "mode").agg(
        f.max_by(f.struct(*plain, *micros), order).alias("entry")
    )
    return [row["entry"] for row in newest.collect()]


def _entry(row: Row) -> Entry:
    return Entry(
        sequence=row["sequence"],
        table=TableId(row["schema"], row["table"]),
        mode=cast(Mode, row["mode"]),
        path=row["path"],
        version=row["version"],
        applied=row["applied"],
        published=row["published"],
        committed_at_us=row["committed_at"],
        applied_at_us=row["applied_at"],
    )
