"""Commands reach the source once the loop runs, and are answered when the log holds them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from headwater.contract import (
    Answer,
    Command,
    Owed,
    OwedState,
    SourceBatch,
    SourceCapabilities,
    Verb,
    Wish,
)
from headwater.errors import StateError
from headwater.event import EventBatch, Position
from headwater.log import SqliteLog
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.testing.clock import FakeClock
from headwater.testing.script import Idle, ScriptedCrash, Step, rows
from headwater.testing.scripted import MemoryMetrics, ScriptedSource

START = Wish(verb=Verb.START, table="t")
CAPABLE = SourceCapabilities(
    snapshot=True,
    resumable_snapshot=True,
    before_image=True,
    truncate=True,
    schema_changes=True,
    context=True,
    exact_transactions=True,
    backfill=True,
)


class Filling(ScriptedSource):
    """Takes commands into its position, as a real one does; `table` names what to refuse."""

    def __init__(self, steps: list[Step], *, busy: int = 0) -> None:
        super().__init__(steps, capabilities=CAPABLE)
        self.given: list[int] = []
        self.effects: list[int] = []
        self.listed: tuple[Owed, ...] = ()
        self._busy = busy
        self._asked = 0

    def open(self, resume: Position | None) -> None:
        super().open(resume)
        self._asked = 0 if resume is None else int(str(resume.token.get("asked", 0)))

    def take(self, command: Command) -> SourceBatch | None:
        self.given.append(command.id)
        if self._busy:
            self._busy -= 1
            return None
        if command.wish.table == "refused":
            raise StateError("backfill-none", "scripted")
        if command.id > self._asked:
            self._asked = command.id
            self.effects.append(command.id)
        return SourceBatch(EventBatch.concat([]), self._position())

    def owed(self) -> tuple[Owed, ...]:
        return self.listed

    def _position(self) -> Position:
        return Position({"step": self._step, "asked": self._asked})


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    return SqliteLog.create(tmp_path / "shop.hwlog")


def _run(source: ScriptedSource, log: SqliteLog, max_events: int = 100) -> None:
    """Run the loop; each batch takes a second, so that every turn is time for a look."""
    clock = FakeClock()
    metrics = MemoryMetrics(on_count=lambda _name, _amount: clock.sleep(1.0))
    policy = CapturePolicy(max_events=max_events)
    loop = CaptureLoop(source, log, clock=clock, metrics=metrics, policy=policy)
    source.on_end = loop.drain
    loop.run()


def _ask(log: SqliteLog, *wishes: Wish) -> list[int]:
    with closing(log.commands()) as commands:
        return [commands.ask(wish) for wish in wishes]


def _answers(log: SqliteLog, *numbers: int) -> list[Answer | None]:
    with closing(log.commands()) as commands:
        return [commands.answered(number) for number in numbers]


def test_commands_are_taken_in_order_and_answered_when_capture_runs(log: SqliteLog) -> None:
    numbers = _ask(log, START, Wish(verb=Verb.PAUSE))
    source = Filling([Idle(), rows(1)])
    _run(source, log)
    assert source.effects == numbers
    assert _answers(log, *numbers) == [Answer(), Answer()]


def test_a_command_is_answered_only_when_the_log_holds_its_place(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    (number,) = _ask(log, START)
    held: list[object] = []
    answer = type(log.commands()).answer

    def watched(commands: object, command: int, given: Answer) -> None:
        position = log.info().position
        held.append(position and Position.decode(position).token["asked"])
        answer(commands, command, given)  # type: ignore[arg-type]

    monkeypatch.setattr("headwater.log.commands.SqliteCommands.answer", watched)
    _run(Filling([rows(1)]), log)
    assert held == [number]


def test_a_command_takes_effect_once_when_the_process_dies_before_the_answer(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    (number,) = _ask(log, START)

    def dies(*_: object) -> None:
        raise ScriptedCrash

    first = Filling([rows(1)])
    with monkeypatch.context() as patch:
        patch.setattr("headwater.log.commands.SqliteCommands.answer", dies)
        with pytest.raises(ScriptedCrash):
            _run(first, log)
    again = Filling([rows(1)])
    _run(again, log)
    assert (first.effects, again.given, again.effects) == ([number], [number], [])
    assert _answers(log, number) == [Answer()]


def test_a_command_is_taken_again_when_the_process_dies_before_the_log_has_it(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    (number,) = _ask(log, START)

    def dies(*_: object) -> None:
        raise ScriptedCrash

    with monkeypatch.context() as patch:
        patch.setattr("headwater.log.writer.SqliteLogWriter.append", dies)
        with pytest.raises(ScriptedCrash):
            _run(Filling([]), log)
    again = Filling([])
    _run(again, log)
    assert again.effects == [number]


def test_capture_goes_on_when_a_command_is_refused(
    log: SqliteLog, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = _ask(log, Wish(verb=Verb.START, table="refused"), START)
    source = Filling([rows(1)])
    _run(source, log)
    refused, taken = _answers(log, *numbers)
    assert refused is not None
    assert (refused.error or {})["code"] == "backfill-none"
    (told,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert vars(told).items() >= {"command": numbers[0], "code": "backfill-none"}.items()
    assert taken == Answer()
    assert log.reader().bounds().head == 1


def test_a_source_that_cannot_do_it_says_so(log: SqliteLog) -> None:
    numbers = _ask(log, START)
    _run(ScriptedSource([rows(1)]), log)
    (answer,) = _answers(log, *numbers)
    assert answer is not None
    assert (answer.error or {})["code"] == "backfill-unsupported"


def test_a_command_waits_and_holds_back_those_after_it_when_the_source_is_not_ready(
    log: SqliteLog,
) -> None:
    numbers = _ask(log, START, Wish(verb=Verb.PAUSE))
    source = Filling([rows(1), rows(2)], busy=1)
    _run(source, log)
    assert source.given == [numbers[0], *numbers]
    assert source.effects == numbers


def test_a_command_waits_until_the_transaction_in_hand_is_whole(log: SqliteLog) -> None:
    """INV-7: its position would make the pieces visible."""
    numbers: list[int] = []

    class Asking(Filling):
        def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
            batch = super().read(max_events, timeout_s)
            if not numbers:
                numbers.extend(_ask(log, START))
            return batch

        def take(self, command: Command) -> SourceBatch | None:
            seen.append(log.reader().bounds().head)
            return super().take(command)

    seen: list[int] = []
    source = Asking([rows(1, 2, 3, 4, 5), Idle(), rows(6)])
    _run(source, log, max_events=2)
    assert seen == [5]


def test_what_ends_stays_in_the_report_with_how_it_ended(log: SqliteLog) -> None:
    before = (
        Owed("public.done", OwedState.READING, 80, 100, 1, rate=9.0),
        Owed("public.stopped", OwedState.READING, 5, 100, 2),
    )
    with closing(log.commands()) as commands:
        commands.report(before)
    _ask(log, Wish(verb=Verb.STOP))

    class Stopping(Filling):
        def take(self, command: Command) -> SourceBatch | None:
            self.listed = ()
            return super().take(command)

    source = Stopping([rows(1)])
    source.listed = (Owed("public.stopped", OwedState.READING, 6, 100, 2),)
    _run(source, log)
    with closing(log.commands()) as commands:
        found = {each.table: (each.state, each.rows_done) for each in commands.reported()}
    assert found == {
        "public.done": (OwedState.DONE, 80),
        "public.stopped": (OwedState.STOPPED, 6),
    }


def test_the_time_left_follows_from_rate_and_estimate() -> None:
    assert Owed("t", OwedState.READING, 40, 100, rate=20.0).eta_s == 3.0
    assert Owed("t", OwedState.READING, 140, 100, rate=20.0).eta_s == 0.0
    assert Owed("t", OwedState.READING, 40, None, rate=20.0).eta_s is None
    assert Owed("t", OwedState.PAUSED, 40, 100, rate=20.0).eta_s is None
