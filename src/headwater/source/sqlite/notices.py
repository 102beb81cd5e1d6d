"""Events about tables instead of rows: a new shape, and a table that starts over."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from headwater.event import EventBatch, Operation, TableSchema, encode_row, event_ids
from headwater.source.sqlite.events import SOURCE_NAME
from headwater.source.sqlite.generation import Generation


def schema_change(
    uid: str, generation: Generation, schema: TableSchema, statement: str, ts_ms: int
) -> EventBatch:
    """The table has a new shape, or is captured for the first time."""
    offset = f"schema:{generation.capture_no}"
    name = schema.table.name
    payload = {
        "ddl_type": "CREATE_TABLE" if generation.follows is None else "ALTER_TABLE",
        "schema": None,
        "table": name,
        "statement": statement,
        "result_schema": schema.to_dict(),
    }
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, [offset]),
            "op": int(Operation.SCHEMA_CHANGE),
            "source_name": SOURCE_NAME,
            "offset": [offset],
            "source_ts_ms": ts_ms,
            "ts_ms": ts_ms,
            "table_name": f"{name}__ddl_events",
            "after": [encode_row(payload)],
            "schema_id": schema.schema_id,
        }
    )


def truncates(uid: str, schemas: Sequence[TableSchema], reason: str, ts_ms: int) -> EventBatch:
    """The tables start over: what consumers hold of them is to be replaced by what follows."""
    if not schemas:
        return EventBatch.concat([])
    offsets = [f"{reason}:{schema.table.name}" for schema in schemas]
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets),
            "op": int(Operation.TRUNCATE),
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": ts_ms,
            "ts_ms": ts_ms,
            "table_name": [schema.table.name for schema in schemas],
            "primary_key": [list(schema.primary_key) or None for schema in schemas],
            "schema_id": [schema.schema_id for schema in schemas],
        }
    )


def statement_of(connection: sqlite3.Connection, table: str) -> str:
    """The table's CREATE statement as SQLite keeps it; empty if the table is gone."""
    row = connection.execute(
        "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE",
        (table,),
    ).fetchone()
    return "" if row is None else str(row[0])
