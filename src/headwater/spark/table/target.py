"""A table as the modes see it, whatever format it has: they say what, the format says how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableId, TableSchema
from headwater.spark.modes import Mode
from headwater.spark.table.layout import Layout

# From the names of the table and of a view with the rows to the SQL that brings them together.
Statement = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Standing:
    """A version of a table, None if there is no table, and the last change that is in it.

    `files` is how many data files it has, 0 if nobody counted.
    """

    version: int | None
    applied: int
    files: int = 0


class Target(Protocol):
    """One table, written through one session. Every commit of ours carries its position."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one version belong together."""
        ...

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        ...

    def prepare(self, schema: TableSchema, layout: Layout) -> bool:
        """Make the table, or bring its columns to the schema; True if it is new and empty."""
        ...

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` with these rows; there is nothing to merge with."""
        ...

    def write(self, rows: DataFrame, until: int, statement: Statement) -> None:
        """Bring the table to `until` by one statement, in one commit."""
        ...

    def note_position(self, until: int) -> None:
        """Show the position where people look for it."""
        ...


class Targets(Protocol):
    """The tables of one lake, in one format, as the stream of one log writes them."""

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> Target:
        """The table that keeps a source table in a mode; it need not exist."""
        ...
