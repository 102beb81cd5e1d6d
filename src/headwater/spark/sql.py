"""Names and values as Spark SQL writes them."""

from __future__ import annotations

from collections.abc import Mapping


def quoted(name: str) -> str:
    """An identifier."""
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """A string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def column_list(columns: Mapping[str, str]) -> str:
    """Names with their types, as CREATE TABLE and ADD COLUMNS take them."""
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
