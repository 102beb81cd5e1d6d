"""What tables hold against what the log says, told event by event in plain Python."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import TableJob, as_of
from headwater.app.spark.targets import targets_of
from headwater.event import Event, Operation, TableId, TableSchema
from headwater.log import SqliteLog
from headwater.spark.modes import Mode, name_of
from headwater.spark.sql import quoted
from headwater.spark.table.iceberg import IcebergTarget
from headwater.spark.table.layout import SEQUENCE
from headwater.spark.table.parquet import Appended
from headwater.spark.table.path import table_path
from headwater.spark.table.target import Target
from headwater.testing.history.oracle import Oracle
from headwater.testing.kept import compared

Image = dict[str, Any]


class Told(Oracle):
    """Also of a log that begins in the middle: the end of a row that never came changes nothing."""

    def _goes(self, key: str, event: Event) -> None:
        if key in self.rows:
            super()._goes(key, event)


def oracles(log: SqliteLog) -> list[tuple[TableSchema, Oracle]]:
    """Every table of a log in its newest shape, with what tables of each mode should hold."""
    with closing(log.reader()) as reader:
        shapes = {each.schema_id: each for _, each in reader.schemas()}
        newest = {each.table: each for _, each in reader.schemas()}
        names = {number: _names_now(each, newest[each.table]) for number, each in shapes.items()}
        columns = {number: tuple(each.values()) for number, each in names.items()}
        told: dict[TableId, Oracle] = {
            table: Told(tuple(column.name for column in schema.columns), columns)
            for table, schema in newest.items()
        }
        for batch in reader.read(0, reader.bounds().head):
            for event in batch:
                if event.op not in (Operation.SCHEMA_CHANGE, Operation.MESSAGE):
                    told[event.table_id].hear(_as_now(event, names[event.schema_id]))
    return [(newest[table], oracle) for table, oracle in told.items()]


def _names_now(shape: TableSchema, newest: TableSchema) -> dict[str, str]:
    """By the name that a column had, the one that the newest shape gives to its number."""
    now = {each.number: each.name for each in newest.columns}
    return {
        each.name: each.name if each.number is None else now.get(each.number, each.name)
        for each in shape.columns
    }


def _as_now(event: Event, names: dict[str, str]) -> Event:
    def image(said: Image | None) -> Image | None:
        return None if said is None else {names[name]: value for name, value in said.items()}

    return replace(event, before=image(event.before), after=image(event.after))


@dataclass(frozen=True, slots=True)
class Held:
    """The tables of a job, as anybody may read them."""

    session: SparkSession
    job: TableJob

    @property
    def log(self) -> SqliteLog:
        return SqliteLog(self.job.log_path)

    def target(self, table: TableId, mode: Mode) -> Target | None:
        """A table that has versions."""
        found = targets_of(self.job.table_format, self.job.location, self.log.info().log_id)
        return None if found is None else found.open(self.session, table, mode)

    def frame(self, schema: TableSchema, mode: Mode = "mirror") -> DataFrame | None:
        """The rows; None if there is no table."""
        target = self.target(schema.table, mode)
        if target is not None:
            return target.rows(target.standing())
        return Appended(self.session, self._folder(schema)).rows(schema.primary_key)

    def rows(self, schema: TableSchema) -> list[Image]:
        """The rows that are, as the application's own record has them."""
        frame, names = self.frame(schema), [each.name for each in schema.columns]
        found = [] if frame is None else frame.select(*map(quoted, names)).collect()
        return [{name: _plain(row[name]) for name in names} for row in found]

    def differences(self) -> list[str]:
        """Where the tables are not what the log says, and whether all of it was taken."""
        found = []
        for schema, oracle in oracles(self.log):
            for mode in self.job.kept().of(schema.table):
                words = compared(self.frame(schema, mode), schema, mode, oracle)
                found += [f"{name_of(schema.table, mode)}: {words}"] if words else []
            if self.job.table_format == "parquet" and self.job.kept().keeps(schema.table):
                found += self._told_twice(schema, oracle)
            if self.job.table_format == "iceberg":
                found += self._left_behind(schema)
        info = self.log.info()
        acked = {cursor.name: cursor.acked for cursor in info.cursors}[self.job.consumer]
        if acked != info.bounds.head:
            found.append(f"the cursor is at {acked}, the log at {info.bounds.head}")
        return found

    def unpublished(self) -> Iterator[str]:
        """When all is applied, the newest published set is what the tables hold."""
        newest = as_of(self.session, self.job.target)
        published = {(each.entry.table, each.mode) for each in newest.tables}
        for schema, _ in oracles(self.log):
            for mode in self.job.kept().of(schema.table):
                target = self.target(schema.table, mode)
                is_there = target is not None and target.standing().version is not None
                if is_there != ((schema.table, mode) in published):
                    yield f"{name_of(schema.table, mode)}: published are only {newest.tables}"
        for each in newest.tables:
            target = self.target(each.entry.table, each.mode)
            standing = None if target is None else target.standing()
            if target is None or standing is None or standing.version == each.version:
                continue
            if _told(target.rows(standing)) != _told(newest.frame(each.table, each.mode)):
                yield f"{each.table} ({each.mode}): version {each.version} is another one"

    def _told_twice(self, schema: TableSchema, oracle: Oracle) -> list[str]:
        """Appended changes are those of the log, once each; a moved row is two of them."""
        read = self.session.read.parquet(self._folder(schema))
        rows = read.select(SEQUENCE, *map(quoted, schema.primary_key))
        told = [event for event in oracle.log if event.op is not Operation.TRUNCATE]
        wanted = sum(1 if event.old_key() in (None, event.key()) else 2 for event in told)
        if (rows.count(), rows.distinct().count()) == (wanted, wanted):
            return []
        return [f"{schema.table}: {rows.count()} changes were appended, {wanted} were told"]

    def _left_behind(self, schema: TableSchema) -> Iterator[str]:
        """Branches of killed drivers go with the next commit of their table."""
        head = self.log.info().bounds.head
        for mode in self.job.kept().of(schema.table):
            target = self.target(schema.table, mode)
            if isinstance(target, IcebergTarget) and target.standing().applied == head:
                branches = list(target._table().refs())
                if branches != ["main"]:
                    yield f"{name_of(schema.table, mode)}: it has branches {branches}"

    def _folder(self, schema: TableSchema) -> str:
        return table_path(self.job.location, schema.table)


def _told(frame: DataFrame | None) -> list[str]:
    return [] if frame is None else sorted(map(repr, frame.collect()))


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else value
