"""Commands: what other processes ask of the one that captures, in the log's own file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

from headwater.contract import Answer, Command, Owed, OwedState, Verb, Wish
from headwater.errors import StateError
from headwater.failpoint import failpoint
from headwater.log.connection import add_missing, connect, transaction, translated

_KEPT = 1_000


class SqliteCommands:
    """Commands and answers. Implements contract.Commands."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = connect(path)
        try:
            with translated(path), transaction(self._db):
                add_missing(self._db)
        except BaseException:
            self._db.close()
            raise

    def ask(self, wish: Wish, *, once: str | None = None) -> int:
        """Write a wish down; old answers go, so that the list stays short."""
        with translated(self._path), transaction(self._db):
            asked = self._db.execute("SELECT id FROM asked_once WHERE name = ?", (once,)).fetchone()
            if asked is not None:
                return int(asked[0])
            row = self._db.execute(
                "INSERT INTO command (wish, asked_at_ms) VALUES (?, ?) RETURNING id",
                (_json(asdict(wish)), _now_ms()),
            ).fetchone()
            self._db.execute(
                "DELETE FROM command WHERE id <= ? AND answered_at_ms IS NOT NULL",
                (row[0] - _KEPT,),
            )
            if once is not None:
                self._db.execute("INSERT INTO asked_once VALUES (?, ?)", (once, row[0]))
        return int(row[0])

    def waiting(self) -> tuple[Command, ...]:
        """The commands without an answer, in the order in which they were asked."""
        with translated(self._path):
            found = self._db.execute(
                "SELECT id, wish FROM command WHERE answered_at_ms IS NULL ORDER BY id"
            ).fetchall()
        return tuple(Command(number, _wish(json.loads(wish))) for number, wish in found)

    def answer(self, command: int, answer: Answer) -> None:
        """Say what became of a command."""
        failpoint("log.command.before_commit")
        with translated(self._path), transaction(self._db):
            self._db.execute(
                "UPDATE command SET answered_at_ms = ?, answer = ? WHERE id = ?",
                (_now_ms(), _json(asdict(answer)), command),
            )
            if answer.error is not None:
                self._db.execute("DELETE FROM asked_once WHERE id = ?", (command,))
        failpoint("log.command.after_commit")

    def answered(self, command: int) -> Answer | None:
        """The answer to a command, if there is one."""
        with translated(self._path):
            row = self._db.execute("SELECT answer FROM command WHERE id = ?", (command,)).fetchone()
        if row is None:
            raise StateError("command-unknown", f"nobody asked command {command}")
        return None if row[0] is None else Answer(**json.loads(row[0]))

    def report(self, owed: Sequence[Owed]) -> None:
        """Say what is owed now."""
        with translated(self._path), transaction(self._db):
            self._db.execute(
                "INSERT INTO report VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET owed = excluded.owed, reported_at_ms = excluded.reported_at_ms",
                (_json([asdict(each) for each in owed]), _now_ms()),
            )

    def reported(self) -> tuple[Owed, ...]:
        """What was said last."""
        with translated(self._path):
            row = self._db.execute("SELECT owed FROM report").fetchone()
        return () if row is None else tuple(map(_owed, json.loads(row[0])))

    def close(self) -> None:
        """Release the file."""
        self._db.close()


def _wish(given: Mapping[str, Any]) -> Wish:
    keys = given.get("keys")
    said = {"verb": Verb(given["verb"]), "keys": None if keys is None else tuple(keys)}
    return Wish(**{**given, **said})


def _owed(given: Mapping[str, Any]) -> Owed:
    return Owed(**{**given, "state": OwedState(given["state"])})


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(type(value).__name__)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
