"""A table as the modes see it, whatever format it has: they say what, the format says how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableId, TableSchema
from headwater.spark.modes import Mode
from headwater.spark.source.data_file import DataFile
from headwater.spark.table.alteration import Alteration
from headwater.spark.table.layout import Layout
from headwater.spark.table.shape import TableShape

# From the names of the table and of a view with the rows to the SQL that brings them together.
Statement = Callable[[str, str], str]
# The least and the greatest value of each.
Ranges = list[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Standing:
    """A version of a table, None if there is no table, and the last change that is in it.

    `files` is how many data files it has, 0 if nobody counted.
    """

    version: int | None
    applied: int
    files: int = 0


class Reach(Protocol):
    """How far rows reach into a table."""

    def count(self) -> int:
        """How many rows there are; they are held from then on."""
        ...

    def ranges(self) -> Ranges:
        """Ranges of the leading key that hold every row's; none if it may be anywhere."""
        ...


@dataclass(frozen=True, slots=True)
class Whole:
    """What a statement does, for a target that needs none: rows of these keys go, these come.

    `rows` have every column of the table, one row for each key, and `gone` where none comes.
    """

    rows: DataFrame
    key: tuple[str, ...]
    gone: str
    reach: Reach


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
        """Make the table if there is none; True if it is new and therefore empty."""
        ...

    def shape(self) -> TableShape | None:
        """The columns that came from the source; None if there is no table."""
        ...

    def statements(self, alterations: Sequence[Alteration]) -> tuple[str, ...]:
        """The statements that `alter` would issue, for people."""
        ...

    def alter(self, alterations: Sequence[Alteration]) -> None:
        """Change the columns. A process may end after any of the statements."""
        ...

    def remember(self, memory: str, key: Sequence[str]) -> None:
        """Keep which column is which; `shape` tells it again."""
        ...

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` with these rows; there is nothing to merge with."""
        ...

    def write(
        self, rows: DataFrame, until: int, statement: Statement, whole: Whole | None = None
    ) -> None:
        """Bring the table to `until` in one commit: by the statement, or as `whole` says it."""
        ...

    def mark(self, until: int) -> None:
        """Bring a table that stands to `until` without a row: nothing up to there is about it."""
        ...

    def contended(self, error: Exception) -> bool:
        """Whether an error says that somebody else has written to the table meanwhile.

        Then nothing was written, and what was worked out from the table is to be worked out anew.
        """
        ...


class Targets(Protocol):
    """The tables of one lake, in one format, as the stream of one log writes them."""

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> Target:
        """The table that keeps a source table in a mode; it need not exist."""
        ...


@dataclass(frozen=True, slots=True)
class Taken:
    """How far a generation's rows and the changes kept beside them have come.

    `closed` is the position for which it was closed; nothing can be added to it then.
    """

    rows: int
    changes: int
    closed: int | None = None

    @property
    def until(self) -> int:
        """The last sequence number of which it holds everything."""
        return max(self.rows, self.changes) if self.closed is None else self.closed


class Generation(Protocol):
    """A table in the making, below the one that it will become. Nobody else sees it.

    What is added carries its position and is added once. It is closed, completed by the changes
    that were kept, and switched in: each of these may be repeated after a crash.
    """

    def taken(self) -> Taken | None:
        """How far it has come; None if there is none."""
        ...

    def prepare(self, schema: TableSchema, layout: Layout) -> None:
        """Begin it, or bring its columns to the schema."""
        ...

    def append(self, rows: DataFrame, until: int) -> None:
        """Add rows as they are, of which it holds everything up to `until` then."""
        ...

    def folder(self) -> str | None:
        """Where anybody on the machine may write files for it; None if they would not suit."""
        ...

    def add(self, files: Sequence[DataFile], until: int) -> None:
        """Add the rows of files in its folder, of which it holds everything up to `until` then."""
        ...

    def is_distinct(self) -> bool:
        """Whether it is known without a look at the rows that none has the key of another."""
        ...

    def keep(self, events: DataFrame, until: int) -> None:
        """Keep events for the end, of which it holds everything up to `until` then."""
        ...

    def close(self, until: int) -> None:
        """Add nothing from now on; what another driver still adds is not taken."""
        ...

    def rows(self) -> DataFrame:
        """The rows that it holds."""
        ...

    def replace(self, rows: DataFrame, until: int) -> None:
        """Hold these rows instead, once."""
        ...

    def kept(self) -> DataFrame | None:
        """The events that were kept; None if there were none."""
        ...

    def merging(self) -> Target:
        """Its rows as a table, of which nothing is known before the changes are merged into it."""
        ...

    def switch(self, until: int) -> None:
        """Make the table of it, in one commit that carries the position."""
        ...

    def clear(self) -> None:
        """Remove what the table does not use."""
        ...


@runtime_checkable
class Loadable(Protocol):
    """A target that can be loaded beside itself."""

    def generation(self) -> Generation:
        """What it is loaded into; it need not have begun."""
        ...


@runtime_checkable
class Loading(Protocol):
    """Targets that can tell which of their tables have a generation."""

    def loading(self, session: SparkSession) -> tuple[tuple[TableId, Mode], ...]:
        """Those that were begun and not cleared."""
        ...


def taken_by(target: Target) -> Taken | None:
    """How far the load of a table has come; None if there is none."""
    return target.generation().taken() if isinstance(target, Loadable) else None
