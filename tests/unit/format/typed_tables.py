"""A table with a column of every type, and a history that knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.event import (
    Column,
    Event,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Origin,
    TableId,
    TableSchema,
)

COLUMNS: tuple[tuple[str, str, Any], ...] = (
    ("id", "int64", 2**63 - 1),
    ("flag", "boolean", True),
    ("small", "int16", -(2**15)),
    ("medium", "int32", 2**31 - 1),
    ("single", "float32", 0.1),
    ("double", "float64", 1e300),
    ("price", "decimal(10,2)", "-12345678.90"),
    ("wide", "decimal(40,20)", "1.00000000000000000001"),
    ("free", "decimal", "1.123456789012345678901234567890"),
    ("rounded", "decimal(3,-2)", "12300"),
    ("name", "string", "Ärö 𝄞"),
    ("bytes", "binary", "AAH/"),
    ("day", "date", "1969-12-31"),
    ("at", "time", "23:59:59.999999"),
    ("local", "timestamp", "0001-01-01T00:00:00.000001"),
    ("moment", "timestamptz", "9999-12-31T23:59:59.999999Z"),
    ("span", "interval", "1 mon"),
    ("uid", "uuid", "6f1c0000-0000-4000-8000-00000000000a"),
    ("doc", "json", {"a": [1, None, {"b": "ü"}]}),
    ("prices", "array<decimal(3,1)>", ["1.5", None, "-0.5"]),
    ("any", "dynamic", {"$binary": "AA=="}),
)
ROW = {name: value for name, _, value in COLUMNS}
ORIGIN = Origin("postgres", "0/16B6A70", 1_700_000_000_000)


def table(
    *columns: tuple[str, str], name: str = "orders", required: tuple[str, ...] = ("id",)
) -> TableSchema:
    """A table of these columns, names and types, with the key `id`."""
    return TableSchema(
        TableId("public", name),
        tuple(
            Column(column, LogicalType.parse(kind), nullable=column not in required)
            for column, kind in columns
        ),
        ("id",),
    )


ORDERS = table(*((name, kind) for name, kind, _ in COLUMNS))


@dataclass(frozen=True, slots=True)
class History:
    """Implements SchemaHistory."""

    tables: tuple[TableSchema, ...] = (ORDERS,)

    def schema(self, schema_id: int) -> TableSchema:
        return next(each for each in self.tables if each.schema_id == schema_id)

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        return tuple(enumerate(self.tables, start=1))


def change(after: dict[str, Any] | None = None, **more: Any) -> Event:
    """An insert into `orders`, or what `more` says."""
    given = {"op": Operation.INSERT, "schema": "public", "primary_key": ("id",), **more}
    op = given.pop("op")
    return Event(op, ORIGIN, 1_700_000_000_001, given.pop("table", "orders"), after=after, **given)


def batch(*events: Event) -> EventBatch:
    return EventBatch.from_events(events)


def every_kind() -> set[Kind]:
    return {LogicalType.parse(kind).kind for _, kind, _ in COLUMNS}
