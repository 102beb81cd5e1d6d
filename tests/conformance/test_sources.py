"""Every source keeps the promises of contract.Source; a broken one is caught."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.contract import Phase, Source, SourceBatch
from headwater.errors import HeadwaterError
from headwater.event import Column, Kind, LogicalType, Operation, Position, TableId, TableSchema
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig
from headwater.testing.conformance.source import SourceConformance, SourceDriver
from headwater.testing.script import Change, Commit, Idle, Script
from headwater.testing.scripted import ScriptedSource


def _schema(*names: str) -> TableSchema:
    columns = tuple(Column(name, LogicalType(Kind.STRING)) for name in names)
    return TableSchema(TableId(None, "items"), columns, ("id",))


class ScriptedDriver:
    """A script as a database: what is committed before the first opening is its snapshot."""

    made: type[ScriptedSource] = ScriptedSource

    def __init__(self) -> None:
        self.script = Script()
        self.schema = _schema("id", "value")
        self.rows: dict[int, str | None] = {}
        self.streaming = False

    def source(self) -> Source:
        source = self.made(self.script)
        opened = source.open

        def open_and_stream(resume: Position | None) -> None:
            opened(resume)
            self.streaming = True

        source.open = open_and_stream  # type: ignore[method-assign]
        return source

    def commit(self, changes: Sequence[Change], context: Mapping[str, Any] | None = None) -> None:
        if self.streaming:
            phase, rows = Phase.STREAM, tuple(map(self._imaged, changes))
        else:
            phase = Phase.SNAPSHOT
            rows = tuple(Change(c.key, c.value, Operation.READ) for c in changes)
        self.script.add(Commit(rows, phase, (self.schema,), context))

    def _imaged(self, change: Change) -> Change:
        if change.op is Operation.DELETE:
            return Change(change.key, self.rows.pop(change.key, None), change.op)
        self.rows[change.key] = change.value
        return change

    def add_column(self, name: str) -> None:
        self.schema = _schema("id", "value", name)

    def lose_history(self) -> None:
        self.script.add(Idle(0))
        self.script.forget(self.script.length)


class TestScriptedSource(SourceConformance):
    patience_s = 0.0

    @pytest.fixture
    def driver(self) -> SourceDriver:
        return ScriptedDriver()


class _Forgetful(ScriptedSource):
    """Resumes one transaction too late: the bug that the suite is there for."""

    def open(self, resume: Position | None) -> None:
        step = 0 if resume is None else int(str(resume.token["step"])) + 1
        super().open(Position({"step": step}))


class _Repeating(ScriptedSource):
    """Saves positions one transaction too early."""

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        batch = super().read(max_events, timeout_s)
        if batch is None:
            return None
        step = max(int(str(batch.position.token["step"])) - 1, 0)
        return SourceBatch(batch.events, Position({"step": step}), batch.schemas, batch.phase)


@pytest.mark.parametrize("broken", [_Forgetful, _Repeating])
def test_suite_fails_when_a_source_loses_or_repeats_changes(broken: type[ScriptedSource]) -> None:
    driver = ScriptedDriver()
    driver.made = broken
    suite = TestScriptedSource()
    with pytest.raises((AssertionError, HeadwaterError)):
        suite.test_every_change_is_kept_once_when_the_process_ends_after_any_batch(driver, 1)


class SqliteDriver:
    """A real database file; every commit is one transaction of another connection."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "items.db"
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, value TEXT)")

    def source(self) -> Source:
        return SqliteSource(SqliteSourceConfig(path=self.path, tables=("items",)))

    def commit(self, changes: Sequence[Change], context: Mapping[str, Any] | None = None) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        if context is not None:
            self._mark(json.dumps(context))
        for change in changes:
            self._change(change)
        if context is not None:
            self._mark(None)
        self.db.execute("COMMIT")

    def _mark(self, context: str | None) -> None:
        self.db.execute("INSERT INTO _headwater_context (context) VALUES (?)", (context,))

    def _change(self, change: Change) -> None:
        match change.op:
            case Operation.INSERT:
                self.db.execute(
                    "INSERT INTO items (id, value) VALUES (?, ?)", (change.key, change.value)
                )
            case Operation.UPDATE:
                self.db.execute(
                    "UPDATE items SET value = ? WHERE id = ?", (change.value, change.key)
                )
            case Operation.DELETE:
                self.db.execute("DELETE FROM items WHERE id = ?", (change.key,))
            case _:
                raise AssertionError(f"SQLite has no {change.op.label}")

    def add_column(self, name: str) -> None:
        self.db.execute(f"ALTER TABLE items ADD COLUMN {name} TEXT")

    def lose_history(self) -> None:
        self.db.execute("INSERT INTO items (id, value) VALUES (99, 'z')")
        self.db.execute(
            "DELETE FROM _headwater_change"
            " WHERE change_id < (SELECT max(change_id) FROM _headwater_change)"
        )


class TestSqliteSource(SourceConformance):
    patience_s = 0.0

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SourceDriver:
        return SqliteDriver(tmp_path)
