"""A log of a few tables whose transactions a test writes itself, loads of tables among them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headwater.contract import SnapshotProgress, SourceBatch
from headwater.event import (
    Column,
    EventBatch,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    encode_row,
    event_ids,
)
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY


def shape(name: str) -> TableSchema:
    """A table of a key and a text."""
    columns = (
        Column("id", LogicalType.parse("int64"), nullable=False, number=1),
        Column("v", LogicalType.parse("string"), number=2),
    )
    return TableSchema(TableId(None, name), columns, ("id",))


class Scripted:
    """Each call writes one transaction; the number of its last event."""

    def __init__(self, folder: Path) -> None:
        self.log = SqliteLog.create(folder / "x.hwlog")
        self._offset = 0

    def insert(self, *rows: tuple[str, int], empty: Iterable[str] = ()) -> int:
        """Rows of tables, by key; `empty` are tables that are there without a row."""
        return self._write(Operation.INSERT, rows, tuple(empty))

    def load(self, *rows: tuple[str, int], owes: bool = True) -> int:
        """Rows that were read of the first row's table, which `owes` more."""
        table = rows[0][0]
        return self._write(Operation.READ, rows, (), table, owes=owes)

    def _write(
        self,
        op: Operation,
        rows: tuple[tuple[str, int], ...],
        empty: tuple[str, ...],
        loaded: str | None = None,
        *,
        owes: bool = False,
    ) -> int:
        offsets = [str(self._offset + number) for number in range(1, len(rows) + 1)]
        self._offset += len(rows)
        events = EventBatch.from_columns(
            {
                "event_id": event_ids("uid", offsets),
                "op": int(op),
                "source_name": "scripted",
                "offset": offsets,
                "source_ts_ms": 1,
                "ts_ms": 1,
                "table_name": [table for table, _ in rows],
                "primary_key": ["id"],
                "schema_id": [shape(table).schema_id for table, _ in rows],
                "after": [encode_row({"id": key, "v": "x"}) for _, key in rows],
            }
        )
        position, shapes = Position({"n": self._offset}), {table for table, _ in rows} | {*empty}
        known = tuple(map(shape, sorted(shapes)))
        batch = SourceBatch(events, position, known)
        if loaded is not None:
            progress = SnapshotProgress(loaded, 0, None, done=not owes)
            owed = (TableId(None, loaded),) if owes else ()
            batch = SourceBatch(events, position, known, progress=progress, owed=owed)
        writer = self.log.writer(IDENTITY)
        try:
            writer.append(batch)
            return writer.head
        finally:
            writer.close()

    def places(self) -> dict[str, int]:
        """Every cursor."""
        return {each.name: each.acked for each in self.log.places()}
