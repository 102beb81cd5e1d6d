"""The two sides of a proof as a test says that they stand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.app.proof.target import TargetTable
from headwater.app.proof.verifier import Bounds, Progress, Proof, Verifier
from headwater.contract import LogReader
from headwater.event import Event, Operation, Origin, TableId, TableSchema, encode_row
from headwater.log import SqliteLog
from headwater.testing.builders import ITEMS, TS_MS
from headwater.testing.clock import FakeClock
from tests.held import held


def event(op: Operation, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Event:
    return Event(
        op=op,
        source=Origin("scripted", "change:1", TS_MS),
        ts_ms=TS_MS,
        table="items",
        primary_key=("id",),
        before=before,
        after=after,
        schema_id=ITEMS.schema_id,
    )


class Target:
    """A target whose tables stand at one sequence."""

    def __init__(self, sequence: int, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def table(self, schema: TableSchema) -> TargetTable | None:
        rows = self._tables.get(schema.table.name)
        return None if rows is None else held(schema, self._sequence, rows)


class SourceAt:
    """A source at a position that the log holds as event `sequence`, or does not hold yet."""

    def __init__(self, sequence: int | None, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def images(self, table: TableId) -> Iterator[str]:
        return map(encode_row, self._tables[table.name])

    def estimate(self, table: TableId) -> int | None:
        return len(self._tables[table.name])

    def sequence(self, reader: LogReader, after: int) -> int | None:
        assert after <= reader.bounds().head
        return self._sequence


def verify(
    log: SqliteLog,
    target: Target,
    source: SourceAt,
    schemas: tuple[TableSchema, ...] = (ITEMS,),
    progress: Progress = lambda _step: None,
) -> Proof:
    @contextmanager
    def opened() -> Iterator[SourceAt]:
        yield source

    reader = log.reader()
    try:
        verifier = Verifier(reader, target, clock=FakeClock(), bounds=Bounds(timeout_s=1))
        return verifier.verify(schemas, opened, progress)
    finally:
        reader.close()
