"""The tables of a lake at one sequence number: a set of versions that was published together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import ConfigError, GapError, StateError
from headwater.spark.modes import Mode
from headwater.spark.sql import quoted
from headwater.spark.state.entry import Entry
from headwater.spark.state.store import Store, store_at
from headwater.spark.state.table import StateTable, Writer, last_entries


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One table of the set; `sequence` is its own last change, `sql` the statement to read it."""

    table: str
    mode: Mode
    path: str
    version: int
    sequence: int
    view: str
    sql: str
    entry: Entry = field(repr=False)


@dataclass(frozen=True, slots=True)
class AsOf:
    """Every table as the source was after event `sequence`."""

    store: Store = field(repr=False)
    sequence: int
    committed_at_us: int
    tables: tuple[TableVersion, ...]

    def frame(self, table: str, mode: Mode = "mirror") -> DataFrame:
        """The rows of a table, named as the source names it: `orders`, `public.orders`."""
        for each in self.tables:
            if (each.table, each.mode) == (table, mode):
                return self._rows(each)
        raise ConfigError(
            "as-of-table",
            f"table {table} is not kept as {mode} at event {self.sequence}",
            hint=f"one of: {', '.join(f'{each.table} ({each.mode})' for each in self.tables)}",
        )

    def frames(self) -> dict[tuple[str, Mode], DataFrame]:
        """The rows of every table, by its name and mode."""
        return {(each.table, each.mode): self._rows(each) for each in self.tables}

    def create_views(self, prefix: str = "") -> tuple[str, ...]:
        """Make a temporary view of each table in the session; returns their names."""
        names = []
        for each in self.tables:
            names.append(f"{prefix}{each.view}")
            self._rows(each).createOrReplaceTempView(quoted(names[-1]))
        return tuple(names)

    def _rows(self, each: TableVersion) -> DataFrame:
        return self.store.rows(each.entry)


def as_of(
    session: SparkSession,
    location: str,
    sequence: int | None = None,
    *,
    consumer: str = "spark",
    log_id: str | None = None,
) -> AsOf:
    """The newest published set up to `sequence`, or of all; each of its versions can be read."""
    store = store_at(session, location)
    if store is None:
        raise _nothing(location)
    writer = _writer(store, location, consumer, log_id)
    rows = StateTable(store, writer).rows()
    until = _published(rows, sequence, location)
    kept = [entry for entry in last_entries(rows, until) if entry.is_there]
    entries = [store.rested(entry, writer.log_id) for entry in kept]
    if not entries:
        raise _nothing(location)
    tables = tuple(_versions(entries, store))
    for each in tables:
        reason = store.unreadable(each.entry, writer.log_id)
        if reason is not None:
            raise GapError(
                "as-of-gone",
                f"version {each.version} of {each.table} ({each.mode}) cannot be read: {reason}",
                where=each.path,
            )
    newest = max(entry.committed_at_us for entry in entries)
    return AsOf(store, until, newest, tables)


def _writer(store: Store, location: str, consumer: str, log_id: str | None) -> Writer:
    """The log that wrote last, if none is named: a lake can be given to another log."""
    if store.version() < 0:
        raise _nothing(location)
    if log_id is None:
        held = store.frame().where(f.col("consumer") == consumer)
        newest = held.agg(f.max_by("log", "applied_at")).first()
        if newest is None or newest[0] is None:
            raise _nothing(location)
        log_id = str(newest[0])
    return Writer(log_id, consumer)


def _nothing(location: str) -> StateError:
    return StateError("as-of-none", "no set of tables has been published here", where=location)


def _published(rows: DataFrame, sequence: int | None, location: str) -> int:
    published = f.when(f.col("published"), f.col("sequence"))
    wanted = published if sequence is None else f.when(f.col("sequence") <= sequence, published)
    found = rows.agg(f.min(published), f.max(published), f.max(wanted)).first()
    if found is None or found[0] is None:
        raise _nothing(location)
    first, last, until = found
    if until is None:
        raise StateError(
            "as-of-before",
            f"event {sequence} is before the first published set, at event {first}",
            where=location,
        )
    if sequence is not None and sequence > last:
        raise StateError(
            "as-of-after",
            f"event {sequence} is after the last published set, at event {last}",
            where=location,
        )
    return int(until)


def _versions(entries: list[Entry], store: Store) -> Iterator[TableVersion]:
    taken: set[str] = set()
    for entry in sorted(entries, key=lambda entry: (str(entry.table), entry.mode)):
        view = _view_name(entry, taken)
        taken.add(view)
        yield TableVersion(
            table=str(entry.table),
            mode=entry.mode,
            path=store.place(entry),
            version=entry.version,
            sequence=entry.applied,
            view=view,
            sql=store.sql(entry),
            entry=entry,
        )


def _view_name(entry: Entry, taken: set[str]) -> str:
    """A name that needs no quotes; two tables that come to the same one are numbered."""
    suffix = "" if entry.mode == "mirror" else f"_{entry.mode}"
    name = re.sub(r"\W", "_", f"{entry.table}{suffix}").lower()
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique
