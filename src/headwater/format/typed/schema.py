"""A table's schema in Avro, and the table that such a schema was made of.

The record `Event` is the envelope of `headwater-avro`, with rows of the table's own record `Row`
instead of JSON bytes. A column's own name and logical type stand beside its field, as `NAME` and
`TYPE`: Avro's names are poorer, and so are its types. A column that may be null has null as its
default, so that it can be added or dropped while older records are still read.

A row of which the source did not send every column is a `Part`, in fields of its own: whoever reads
only `after` never takes it for a whole row (INV-10).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headwater.event import Column, LogicalType, TableId, TableSchema
from headwater.format.headwater.avro_schema import EVENT
from headwater.format.typed.names import legal, legal_names
from headwater.format.typed.values import form_of

NAME, TYPE = "headwater.name", "headwater.type"
TABLE = "headwater.table"
SPACE = "headwater"
_LOGICAL = ("logicalType", "precision", "scale")
NO_TABLE = TableSchema(TableId(None, ""), ())  # of events that no table has rows for

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TypedSchemas:
    """What is published of a table: the record of its events, and of its key."""

    event: Schema
    key: Schema


def typed_schemas(table: TableSchema) -> TypedSchemas:
    """The schemas of a table."""
    space = namespace(table.table)
    row = _record("Row", space, _fields(table.columns))
    part = _record("Part", space, _fields(table.columns, partial=True))
    columns = {"type": "array", "items": "string"}
    event = _record(
        "Event",
        space,
        [
            _optional("before", row),
            _optional("after", f"{space}.Row"),
            _optional("before_part", part),
            _optional("after_part", f"{space}.Part"),
            {"name": "before_columns", "type": columns, "default": [], "doc": "of before_part"},
            {"name": "after_columns", "type": columns, "default": [], "doc": "of after_part"},
            _optional("before_json", "string"),
            _optional("after_json", "string"),
            *EVENT["fields"][2:],
            _optional("extra", "string"),
        ],
    )
    event[TABLE] = {
        "schema": table.table.schema,
        "table": table.table.name,
        "primary_key": list(table.primary_key),
    }
    keys = [column for column in map(table.column, table.primary_key) if column is not None]
    return TypedSchemas(event, _record("Key", space, _fields(keys)))


def namespace(table: TableId) -> str:
    """The namespace of a table's records: `headwater.public.orders`."""
    return ".".join([SPACE, *(legal(part) for part in (table.schema, table.name) if part)])


def table_of(event: Any) -> TableSchema:
    """The table that a published schema was made of. ValueError if it is none of ours."""
    try:
        table, (before, *_) = event[TABLE], event["fields"]
        return TableSchema(
            table=TableId(table["schema"], table["table"]),
            columns=tuple(map(_column, before["type"][1]["fields"])),
            primary_key=tuple(table["primary_key"]),
        )
    except (LookupError, TypeError) as exc:
        raise ValueError("not a schema of typed rows") from exc


def bare(schema: Any) -> Any:
    """The schema without logical types: the same bytes, read and written as plain numbers."""
    if isinstance(schema, list):
        return [bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: bare(value) for name, value in schema.items() if name not in _LOGICAL}


def _column(field: Schema) -> Column:
    nullable = isinstance(field["type"], list)
    return Column(field[NAME], LogicalType.parse(field[TYPE]), nullable=nullable)


def _fields(columns: Iterable[Column], *, partial: bool = False) -> list[Schema]:
    columns = list(columns)
    names = legal_names(column.name for column in columns)
    return [_field(*pair, partial=partial) for pair in zip(names, columns, strict=True)]


def _field(name: str, column: Column, *, partial: bool) -> Schema:
    avro = form_of(column.type).avro
    field = _optional(name, avro) if column.nullable or partial else {"name": name, "type": avro}
    return {**field, NAME: column.name, TYPE: str(column.type)}


def _optional(name: str, avro: Any) -> Schema:
    return {"name": name, "type": ["null", avro], "default": None}


def _record(name: str, space: str, fields: list[Schema]) -> Schema:
    return {"type": "record", "name": name, "namespace": space, "fields": fields}
