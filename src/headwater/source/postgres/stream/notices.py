"""Events that are not about rows: a table's shape that changed, and what an application said."""

from __future__ import annotations

import json

from headwater.event import EventBatch, Operation, encode_row, message_image
from headwater.source.postgres.events import SOURCE_NAME
from headwater.source.postgres.shapes import Captured

CONTEXT_PREFIX = "headwater.context"
DDL_PREFIX = "headwater.ddl"


def schema_change(
    captured: Captured | None, schema: str | None, name: str, kind: str, statement: str
) -> EventBatch:
    """The table was made, altered or dropped; `captured` is its shape now, None if it is gone."""
    payload = {
        "ddl_type": kind,
        "schema": schema,
        "table": name,
        "statement": statement,
        "result_schema": None if captured is None else captured.schema.to_dict(),
    }
    return EventBatch.from_columns(
        {
            "op": [int(Operation.SCHEMA_CHANGE)],
            "source_name": SOURCE_NAME,
            "table_schema": schema,
            "table_name": f"{name}__ddl_events",
            "after": encode_row(payload),
            "schema_id": 0 if captured is None else captured.schema_id,
        }
    )


def message_event(prefix: str, content: bytes) -> EventBatch:
    """A logical message; it concerns no table."""
    return EventBatch.from_columns(
        {
            "op": [int(Operation.MESSAGE)],
            "source_name": SOURCE_NAME,
            "after": message_image(prefix, content),
        }
    )


def ddl_event(content: bytes) -> EventBatch | None:
    """What the event trigger wrote of a statement; None if it is not ours to read."""
    try:
        facts = json.loads(content)
        schema, table = str(facts["schema"]), str(facts["table"])
        kind, statement = str(facts["tag"]), str(facts["statement"])
    except (ValueError, KeyError, TypeError):
        return None
    return schema_change(None, schema, table, kind.replace(" ", "_"), statement)
