"""Quoting: the one way in which a name or a text gets into SQL."""

from __future__ import annotations

from headwater.errors import ConfigError
from headwater.event import TableId


def quote(name: str) -> str:
    """An identifier as SQL text."""
    return '"' + _sendable(name).replace('"', '""') + '"'


def quote_table(table: TableId) -> str:
    """A table's name as SQL text, with its schema."""
    return (
        quote(table.name) if table.schema is None else f"{quote(table.schema)}.{quote(table.name)}"
    )


def literal(text: str) -> str:
    """A text literal as SQL text, whatever the session's standard_conforming_strings says."""
    doubled = _sendable(text).replace("'", "''")
    return f"E'{doubled.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{doubled}'"


def _sendable(text: str) -> str:
    if "\x00" in text:
        raise ConfigError("config-invalid", "a NUL character cannot be sent to PostgreSQL")
    return text
