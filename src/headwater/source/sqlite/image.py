"""Row images as SQL: SQLite itself writes the canonical JSON, for snapshot and stream alike.

One expression serves both paths, so they agree character for character, and no Python value is made
per column. Only floats and blobs call back into Python, because SQLite prints neither as the value
rule asks.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from headwater.event import Kind, LogicalType
from headwater.event.value import BINARY_TAG, TEXT_TAG, binary_text, float_text
from headwater.source.sqlite.identifiers import quote_text


def register(connection: sqlite3.Connection) -> None:
    """Give the connection the functions that the expressions call."""
    connection.create_function("hw_real", 1, float_text, deterministic=True)
    connection.create_function("hw_blob", 1, _blob, deterministic=True)
    connection.create_function("hw_text", 1, _text_or_bytes, deterministic=True)


def image_sql(
    columns: Sequence[tuple[str, LogicalType]], references: Sequence[str], *, careful: bool = False
) -> str:
    """An expression for the JSON object of these columns, read from these SQL references.

    `careful` survives text that is not UTF-8, at the price of a call per text value.
    """
    parts = []
    for number, ((name, logical), reference) in enumerate(zip(columns, references, strict=True)):
        label = json.dumps(name, ensure_ascii=False)
        opening = "{" if number == 0 else ","
        parts.append(quote_text(f"{opening}{label}:"))
        parts.append(_value_sql(reference, logical, careful=careful))
    parts.append("'}'" if columns else "'{}'")
    return _joined(parts)


def _value_sql(reference: str, logical: LogicalType, *, careful: bool) -> str:
    text = f"hw_text(CAST({reference} AS BLOB))" if careful else f"json_quote({reference})"
    blob = f"hw_blob({reference})"
    if logical.kind is Kind.BINARY:
        text = f"""'{{"{TEXT_TAG}":' || {text} || '}}'"""
    else:
        blob = f"""'{{"{BINARY_TAG}":' || {blob} || '}}'"""
    return (
        f"CASE typeof({reference}) WHEN 'null' THEN 'null' WHEN 'integer' THEN {reference} "
        f"WHEN 'text' THEN {text} WHEN 'real' THEN hw_real({reference}) ELSE {blob} END"
    )


def _joined(parts: Sequence[str]) -> str:
    """Concatenate as a balanced tree: a long chain would pass SQLite's limit of depth 1000."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({_joined(parts[:middle])} || {_joined(parts[middle:])})"


def _blob(value: bytes) -> str:
    return f'"{binary_text(value)}"'


def _text_or_bytes(value: bytes) -> str:
    """A text's JSON; bytes that are no UTF-8 are tagged as what they are."""
    try:
        return json.dumps(value.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        return json.dumps({BINARY_TAG: binary_text(value)}, separators=(",", ":"))
