"""Quoting: the one way in which a name or a text gets into SQL."""

from __future__ import annotations


def quote(name: str) -> str:
    """An identifier as SQL text. Any name is allowed that SQLite itself can store.

    A quoted identifier that resolves to no column silently becomes a string in SQLite, so callers
    always qualify columns (`NEW."a"`, `held."a"`): then a wrong name is an error, not a value.
    """
    if "\x00" in name:
        raise ValueError("an SQLite identifier cannot contain a NUL character")
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """A text literal as SQL text."""
    if "\x00" in value:
        raise ValueError("an SQLite text literal cannot contain a NUL character")
    return "'" + value.replace("'", "''") + "'"


def fold(name: str) -> str:
    """The name as SQLite compares names: without regard to the case of ASCII letters only."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
