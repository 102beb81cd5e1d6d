"""The scripted source keeps the promises of contract.Source; a broken one is caught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headwater.contract import Phase, Source, SourceBatch
from headwater.errors import HeadwaterError
from headwater.event import Column, Kind, LogicalType, Operation, Position, TableId, TableSchema
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
