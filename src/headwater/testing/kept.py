"""A table of any mode against what the oracle says that it holds, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Column, LogicalType, TableSchema, encode_row
from headwater.spark.modes import Mode
from headwater.spark.proof.rows import as_stored, stored_rows
from headwater.spark.sql import quoted
from headwater.spark.table.layout import (
    COMMITTED_AT,
    CURRENT,
    DELETED_AT,
    DELETED_FLAG,
    OP,
    SEQUENCE,
    TO_SEQUENCE,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
)
from headwater.testing.history.difference import difference
from headwater.testing.history.oracle import Oracle

Values = tuple[Any, ...]
_TIME = "unix_millis({})"


@dataclass(frozen=True, slots=True)
class _Added:
    """A column that a mode adds: its type as the oracle tells it, and how it is read so."""

    kind: str
    sql: str = "{}"


# In the oracle's order.
_ADDED: Mapping[Mode, Mapping[str, _Added]] = {
    "mirror": {},
    "soft_delete": {
        SEQUENCE: _Added("int64"),
        DELETED_FLAG: _Added("boolean"),
        DELETED_AT: _Added("int64", _TIME),
    },
    "scd2": {
        SEQUENCE: _Added("int64"),
        VALID_FROM: _Added("int64", _TIME),
        TO_SEQUENCE: _Added("int64"),
        VALID_TO: _Added("int64", _TIME),
        CURRENT: _Added("boolean"),
    },
    "append_log": {
        SEQUENCE: _Added("int64"),
        COMMITTED_AT: _Added("int64", _TIME),
        OP: _Added("string"),
        UNAVAILABLE: _Added("array<string>", "sort_array({})"),
    },
}


def compared(frame: DataFrame | None, schema: TableSchema, mode: Mode, oracle: Oracle) -> str:
    """How the rows of a table differ from the oracle's, in words; nothing if they do not."""
    told = _told(oracle, mode)
    if frame is None:
        return "there is no table" if told else ""
    added = _ADDED[mode]
    lacking = {*(column.name for column in schema.columns), *added} - {*frame.columns}
    if lacking:
        return f"the table has no column {', '.join(sorted(lacking))}"
    wider = replace(schema, columns=(*schema.columns, *_columns(added)))
    read = {name: f.expr(each.sql.format(quoted(name))) for name, each in added.items()}
    held = stored_rows(frame.withColumns(read) if read else frame, wider)
    return difference(held, _wanted(told, schema, tuple(added)), _key(schema, mode))


def _told(oracle: Oracle, mode: Mode) -> list[Values]:
    match mode:
        case "mirror":
            return oracle.mirror()
        case "soft_delete":
            return oracle.soft_delete()
        case "scd2":
            return oracle.scd2()
        case "append_log":
            return oracle.append_log()


def _columns(added: Mapping[str, _Added]) -> Iterable[Column]:
    return (Column(name, LogicalType.parse(each.kind)) for name, each in added.items())


def _wanted(
    told: Iterable[Values], schema: TableSchema, added: tuple[str, ...]
) -> Iterable[dict[str, Any]]:
    names = [column.name for column in schema.columns]
    for values in told:
        row = dict(zip((*names, *added), values, strict=True))
        source = encode_row({name: row[name] for name in names})
        yield row | as_stored(source, schema)


def _key(schema: TableSchema, mode: Mode) -> tuple[str, ...]:
    """What tells rows apart: a key has many versions, and an event stands for itself."""
    match mode:
        case "mirror" | "soft_delete":
            return schema.primary_key
        case "scd2":
            return (*schema.primary_key, SEQUENCE)
        case "append_log":
            return (SEQUENCE,)
