"""Tables with foreign keys, and events of their rows, for the tests of cascades."""

from __future__ import annotations

from typing import Any

from headwater.event import (
    Column,
    Event,
    EventBatch,
    ForeignKey,
    Kind,
    LogicalType,
    Operation,
    Origin,
    TableId,
    TableSchema,
)

Row = dict[str, Any]

_TYPE = LogicalType(Kind.DYNAMIC)


def table(name: str, *columns: str, refers: dict[str, str] | None = None) -> TableSchema:
    """A table with the key `id`; `refers` gives the table of each column that refers to one."""
    return TableSchema(
        table=TableId("public", name),
        columns=tuple(Column(each, _TYPE) for each in ("id", *columns)),
        primary_key=("id",),
        foreign_keys=tuple(
            ForeignKey((column,), TableId("public", other), ("id",))
            for column, other in (refers or {}).items()
        ),
    )


ORGANIZATION = table("organization", "member_count")
USER = table("user", "name", "org_id", refers={"org_id": "organization"})
POST = table("post", "user_id", refers={"user_id": "user"})
COMMENT = table("comment", "post_id", refers={"post_id": "post"})
TABLES = (ORGANIZATION, USER, POST, COMMENT)


class History:
    """A schema history that is a dictionary."""

    def __init__(self, *tables: TableSchema) -> None:
        self._tables = {each.schema_id: each for each in tables}

    def schema(self, schema_id: int) -> TableSchema:
        return self._tables[schema_id]

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        return tuple((1, each) for each in self._tables.values())


HISTORY = History(*TABLES)


def added(of: TableSchema, row: Row) -> Event:
    return _event(of, Operation.INSERT, None, row)


def changed(of: TableSchema, before: Row | None, after: Row) -> Event:
    return _event(of, Operation.UPDATE, before, after)


def removed(of: TableSchema, row: Row) -> Event:
    return _event(of, Operation.DELETE, row, None)


def _event(of: TableSchema, op: Operation, before: Row | None, after: Row | None) -> Event:
    return Event(
        op=op,
        source=Origin("postgres", "0", 1_768_145_700_123),
        ts_ms=1_768_145_700_456,
        table=of.table.name,
        schema=of.table.schema,
        primary_key=of.primary_key,
        before=before,
        after=after,
        schema_id=of.schema_id,
    )


def batch(*transactions: list[Event], first: int = 1) -> EventBatch:
    """The events of these transactions, in order, numbered from `first` on."""
    rows = []
    for number, events in enumerate(transactions):
        made = EventBatch.from_events(events)
        blocks = [
            {"tx_id": 700 + number, "total_events": len(events), "event_index": index}
            for index in range(len(events))
        ]
        columns = {name: made.column(name) for name in made.records.schema.names}
        rows.append(EventBatch.from_columns(columns | {"transaction": blocks}))
    return EventBatch.concat(rows).with_sequence(first)
