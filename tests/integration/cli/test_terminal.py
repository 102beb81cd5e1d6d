"""What a terminal sees, and what it does not."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from headwater.app.demo.shop import create_shop
from headwater.event import Event, EventBatch, Operation, Origin
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, TS_MS, source_batch

CLEARED = b"\x1b[2J"
Environment = Mapping[str, str]
NOTHING: Environment = {}


def on_terminal(directory: Path, *words: str, drawn: int = 0, env: Environment = NOTHING) -> str:
    """Run a command on a terminal of its own; everything it wrote.

    It is interrupted when it has cleared the screen `drawn` times, if ever.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater", *words],
        cwd=directory,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "TERM": "xterm-256color",
            "COLUMNS": "80",
            **env,
        },
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed: the command has ended
            break
        if not piece:
            break
        written += piece
        if drawn and written.count(CLEARED) >= drawn:
            process.send_signal(signal.SIGINT)
            drawn = 0
    process.wait(timeout=30)
    os.close(ours)
    return written.decode()


def test_status_is_drawn_anew_until_it_is_interrupted(tmp_path: Path) -> None:
    create_shop(tmp_path / "shop.db", customers=2)
    (tmp_path / "shop.yaml").write_text(
        "version: 1\nname: shop\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
        "sinks: [{name: audit, type: file, path: changes.jsonl}]\nserver: {port: 0}\n"
    )
    on_terminal(tmp_path, "run", "shop.yaml", "--once")
    shown = on_terminal(tmp_path, "status", "shop.yaml", "--watch", drawn=4)
    drawn, last = shown.split("\x1b[?1049l")
    looks = [each for each in drawn.split(CLEARED.decode()) if "CONSUMER" in each]
    assert len(looks) >= 2
    for each in (*looks, last):  # which stays on the terminal
        assert "CONSUMER" in each
        assert "AGE" in each


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log whose row data tries to command the terminal."""
    path = tmp_path / "hostile.hwlog"
    event = Event(
        op=Operation.INSERT,
        source=Origin("scripted", "change:1", TS_MS),
        ts_ms=TS_MS,
        table="items",
        primary_key=("id",),
        after={"id": 1, "name": "\x1b]0;owned\x07\x1b[31m\u202egnp.exe"},
    )
    writer = SqliteLog.create(path).writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events([event]), 1))
    writer.close()
    return path


def test_errors_are_coloured_when_on_a_terminal(tmp_path: Path) -> None:
    assert "\x1b[1;31m" in on_terminal(tmp_path, "explain", "nope-nope")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_errors_are_plain_when_colour_is_not_wanted(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    shown = on_terminal(tmp_path, "explain", "nope-nope", env=environment)
    assert "code-unknown" in shown
    assert "\x1b[3" not in shown
    assert "\x1b[1;3" not in shown


def test_tail_is_coloured_and_harmless_when_row_data_is_hostile(log: Path) -> None:
    shown = on_terminal(log.parent, "tail", log.name, "--no-follow", "--diff")
    assert "\x1b[32m+ items" in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "\\x1b]0;owned\\x07\\x1b[31m\\u202egnp.exe" in shown


def test_traceback_is_shown_when_debugging_is_asked_for(tmp_path: Path) -> None:
    assert "Traceback" not in on_terminal(tmp_path, "validate", "no.yaml")
    assert "Traceback" in on_terminal(tmp_path, "validate", "no.yaml", env={"HEADWATER_DEBUG": "1"})


def test_help_fits_when_the_terminal_has_80_columns(tmp_path: Path) -> None:
    for words in ((), ("run",), ("tail",), ("log", "repair"), ("setup", "sqlite"), ("demo",)):
        shown = on_terminal(tmp_path, *words, "--help")
        assert all(len(line.rstrip()) <= 80 for line in shown.splitlines()), words


def test_doctor_fits_when_a_pipeline_is_checked_on_a_terminal(tmp_path: Path) -> None:
    create_shop(tmp_path / "shop.db", customers=2)
    on_terminal(tmp_path, "init", "shop.yaml", "--from", "shop.db")
    shown = on_terminal(tmp_path, "doctor", "shop.yaml")
    assert "✓" in shown
    with sqlite3.connect(tmp_path / "shop.db") as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
    assert not any(name.startswith("_headwater") for name in names), "looking changes nothing"


def test_convert_shows_how_far_it_is_when_on_a_terminal(tmp_path: Path) -> None:
    record = json.dumps(
        {"op": "insert", "source": {"source_name": "s", "offset": "1", "timestamp": 1}, "ts": 1}
        | {"before": None, "after": {"id": 1}, "schema": None, "table": "t", "primary_key": ["id"]}
        | {"snapshot": None, "transaction": None, "envelope_version": 1}
    )
    (tmp_path / "in.jsonl").write_text(f"{record}\n" * 20_000)
    words = ("convert", "in.jsonl", "out.avro", "--from", "headwater-json", "--to")
    seen = on_terminal(tmp_path, *words, "headwater-avro")
    assert re.search(r"[\d.]+/[\d.]+ MB", seen), "bytes done of all"
    assert "20,000 records from headwater-json to headwater-avro" in seen
