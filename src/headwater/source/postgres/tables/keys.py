"""Rows that are wanted by their keys, and keys of which there is no row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headwater.errors import ConfigError
from headwater.event import Kind, TableSchema
from headwater.source.postgres.names import literal, quote
from headwater.source.postgres.tables.overlay import Overlay


def key_condition(keys: Sequence[str], schema: TableSchema) -> str:
    """A condition that rows with these keys fulfil; the server reads the values in its types."""
    kinds = {column.name: column.type.kind for column in schema.columns}
    rows = []
    for text in keys:
        key = json.loads(text)
        if not isinstance(key, dict) or set(key) != set(schema.primary_key):
            raise ConfigError("backfill-key", f"not a key of {schema.table}", where=text[:80])
        values = (_value(key[name], kinds[name]) for name in schema.primary_key)
        rows.append(f"({', '.join(values)})")
    names = ", ".join(map(quote, schema.primary_key))
    return f"({names}) IN ({', '.join(rows)})"


def _value(value: Any, kind: Kind) -> str:
    if isinstance(value, dict | list) or value is None:
        raise ConfigError("backfill-key", "a key is made of plain values", where=str(value)[:80])
    text = literal(value if isinstance(value, str) else json.dumps(value))
    return f"decode({text}, 'base64')" if kind is Kind.BINARY else text


def absent(keys: Sequence[str], images: pa.Array, overlay: Overlay) -> tuple[str, ...]:
    """The keys without a row, neither among those that were read nor in what the stream told.

    If a row's key is written otherwise than it was asked for, nobody can say which key was not
    found, and none is taken for absent.
    """
    asked = {overlay.key_of(text): text for text in keys}
    found = set() if overlay.emptied else set(map(overlay.key_of, images.to_pylist()))
    if not found <= asked.keys():
        return ()
    return tuple(
        text for key, text in asked.items() if key not in found and not overlay.tells_of(key)
    )
