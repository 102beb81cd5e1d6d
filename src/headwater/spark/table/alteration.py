"""Statements that change a table's columns, as Spark SQL has them in every table format. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.spark.sql import column_list, quoted

# Characters that a column's name may have only where it is not the name in the files.
NOT_IN_FILES = frozenset(" ,;{}()\n\t=")


@dataclass(frozen=True, slots=True)
class Alteration:
    """One statement without the table's name, and what the table must be able to do for it."""

    tail: str
    head: str = "ALTER TABLE"
    maps_names: bool = False
    widens: bool = False

    def on(self, table: str) -> str:
        """The whole statement."""
        return f"{self.head} {table} {self.tail}"


def add(columns: Mapping[str, str]) -> Alteration:
    """Add columns with their types."""
    odd = any(NOT_IN_FILES.intersection(name) for name in columns)
    return Alteration(f"ADD COLUMNS ({column_list(columns)})", maps_names=odd)


def rename(old: str, new: str) -> Alteration:
    """Give a column another name."""
    return Alteration(f"RENAME COLUMN {quoted(old)} TO {quoted(new)}", maps_names=True)


def drop(name: str) -> Alteration:
    """Take a column away."""
    return Alteration(f"DROP COLUMN {quoted(name)}", maps_names=True)


def widen(name: str, kind: str) -> Alteration:
    """Give a column a type with more room."""
    path = quoted(name)
    while kind.startswith("array<"):
        path, kind = f"{path}.element", kind.removeprefix("array<").removesuffix(">")
    return Alteration(f"ALTER COLUMN {path} TYPE {kind}", widens=True)


def as_text(name: str) -> tuple[Alteration, ...]:
    """Make text of a column, with its values; what no ALTER can do."""
    other = f"{name}__text"
    return (
        add({other: "string"}),
        Alteration(f"SET {quoted(other)} = CAST({quoted(name)} AS string)", head="UPDATE"),
        drop(name),
        rename(other, name),
    )
