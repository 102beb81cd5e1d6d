"""Commands in the log's file: asked by any process, answered by the one that captures."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headwater.contract import Answer, Command, Owed, OwedState, SourceIdentity, Verb, Wish
from headwater.errors import MachineError, StateError
from headwater.log import SqliteLog

START = Wish(
    verb=Verb.START,
    table="orders",
    where="id > 7 AND note = 'ü'",
    rows_per_s=50,
    keys=('{"id":7}', '{"id":8}'),
)
_ASK = """
import sys
from headwater.contract import Verb, Wish
from headwater.log import SqliteLog
print(SqliteLog(sys.argv[1]).commands().ask(Wish(verb=Verb.PAUSE)))
"""
_ANSWER = """
import sys
from headwater.contract import Answer
from headwater.log import SqliteLog
commands = SqliteLog(sys.argv[1]).commands()
commands.answer(commands.waiting()[0].id, Answer())
"""


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    return SqliteLog.create(tmp_path / "shop.hwlog")


def _other_process(
    code: str, log: SqliteLog, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(log.path)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_wait_in_order_until_they_are_answered(log: SqliteLog) -> None:
    with closing(log.commands()) as commands:
        first, second = commands.ask(START), commands.ask(Wish(verb=Verb.STOP))
        assert commands.waiting() == (
            Command(first, START),
            Command(second, Wish(verb=Verb.STOP)),
        )
        commands.answer(first, Answer({"code": "backfill-table"}))
        assert [each.id for each in commands.waiting()] == [second]
        assert commands.answered(first) == Answer({"code": "backfill-table"})
        assert commands.answered(second) is None


def test_a_command_reaches_the_writer_when_another_process_asks(log: SqliteLog) -> None:
    writer = log.writer(SourceIdentity("s", "1"))
    with closing(writer), closing(log.commands()) as commands:
        asked = _other_process(_ASK, log)
        assert asked.stderr == ""
        assert commands.waiting() == (Command(int(asked.stdout), Wish(verb=Verb.PAUSE)),)


@pytest.mark.parametrize(
    ("failpoint", "waits"), [("log.command.before_commit", 1), ("log.command.after_commit", 0)]
)
def test_an_answer_is_there_or_not_when_its_process_is_killed(
    log: SqliteLog, failpoint: str, waits: int
) -> None:
    with closing(log.commands()) as commands:
        commands.ask(START)
        killed = _other_process(_ANSWER, log, HEADWATER_FAILPOINT=f"{failpoint}=kill")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert len(commands.waiting()) == waits


def test_numbers_are_never_given_twice_when_old_commands_go(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.log.commands._KEPT", 1)
    with closing(log.commands()) as commands:
        for number in range(1, 4):
            assert commands.ask(START) == number
            commands.answer(number, Answer())
        assert commands.ask(START) == 4
        with pytest.raises(StateError) as caught:
            commands.answered(1)
    assert caught.value.code == "command-unknown"


def test_a_report_replaces_the_one_before(log: SqliteLog) -> None:
    reading = Owed("public.t", OwedState.READING, 10, 100, 1, "id > 1", None, 12.5)
    with closing(log.commands()) as commands:
        assert commands.reported() == ()
        commands.report([reading])
        commands.report([reading, Owed("public.u", OwedState.WAITING)])
        assert commands.reported() == (reading, Owed("public.u", OwedState.WAITING))


def _without_commands(log: SqliteLog) -> None:
    """As an older program made it."""
    with closing(sqlite3.connect(log.path)) as db:
        db.executescript("DROP TABLE command; DROP TABLE report")


def test_a_log_of_an_older_program_is_given_the_tables_when_it_is_opened_for_writing(
    log: SqliteLog,
) -> None:
    _without_commands(log)
    log.writer(SourceIdentity("s", "1")).close()
    with closing(sqlite3.connect(log.path)) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    assert {"command", "command_waiting", "report"} <= names


def test_a_log_of_an_older_program_takes_commands_when_nobody_has_opened_it_since(
    log: SqliteLog,
) -> None:
    _without_commands(log)
    with closing(log.commands()) as commands:
        assert commands.ask(START) == 1


@pytest.mark.parametrize("older", [False, True])
def test_commands_outlive_salvage(log: SqliteLog, *, older: bool) -> None:
    if older:
        _without_commands(log)
    else:
        with closing(log.commands()) as commands:
            commands.ask(START)
    log.salvage()
    with closing(log.commands()) as commands:
        assert len(commands.waiting()) == (not older)
        assert commands.ask(START) == (1 if older else 2)


def test_commands_are_refused_where_there_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        SqliteLog(tmp_path / "none").commands()
    assert caught.value.code == "log-missing"


def test_wish_with_a_name_is_written_down_once_however_often_it_is_asked(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.log.commands._KEPT", 2)
    with closing(log.commands()) as commands, closing(log.commands()) as others:
        number = commands.ask(START, once="added column orders.city#4")
        assert others.ask(START, once="added column orders.city#4") == number
        commands.answer(number, Answer())
        # The command is forgotten in time, its name is not.
        for _ in range(3):
            commands.answer(commands.ask(START), Answer())
        with pytest.raises(StateError):
            commands.answered(number)
        assert others.ask(START, once="added column orders.city#4") == number
        assert others.ask(START, once="added column orders.city#5") > number
        assert len(commands.waiting()) == 1


def test_wish_with_a_name_is_asked_again_when_it_was_refused(log: SqliteLog) -> None:
    with closing(log.commands()) as commands:
        number = commands.ask(START, once="added column orders.city#4")
        commands.answer(number, Answer({"code": "backfill-where"}))
        again = commands.ask(START, once="added column orders.city#4")
        assert again > number
        assert commands.ask(START, once="added column orders.city#4") == again
