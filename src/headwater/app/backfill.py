"""Backfill from outside: ask the running capture for rows, steer it, see how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headwater import errors
from headwater.app.config import Config, load_config
from headwater.app.inspect import writer_of
from headwater.app.options import source_options
from headwater.app.registry import open_log, open_source
from headwater.contract import Owed, OwedState, Verb, Wish
from headwater.errors import ConfigError, HeadwaterError, StateError, TransientError
from headwater.log import SqliteLog

_POLL_S = 0.1
# Longer than one look of the loop, shorter than anybody's patience.
_ANSWER_S = 15.0


def ask(file: Path, wish: Wish) -> dict[str, Any]:
    """Write a wish down and wait for the answer, if anybody is there to give one.

    `state` is `taken`, or `waiting` where no capture runs or it is not ready yet.
    """
    config = load_config(file)
    check(config, wish)
    with closing(open_log(config.log.path).commands()) as commands:
        number = commands.ask(wish)
        until = time.monotonic() + _ANSWER_S
        while (answer := commands.answered(number)) is None:
            capturing = writer_of(config.log.path) is not None
            if not capturing or time.monotonic() > until:
                return {"command": number, "state": "waiting", "capturing": capturing}
            time.sleep(_POLL_S)
    if answer.error is not None:
        raise _error(answer.error)
    return {"command": number, "state": "taken", "capturing": True}


def answer_to(log: SqliteLog, number: int) -> bool:
    """Whether a command was taken; False while nobody has. One that was refused is raised."""
    with closing(log.commands()) as commands:
        answer = commands.answered(number)
    if answer is not None and answer.error is not None:
        raise _error(answer.error)
    return answer is not None


def status(file: Path) -> dict[str, Any]:
    """What is owed or was done lately, and the wishes that nobody has taken yet."""
    config = load_config(file)
    with closing(open_log(config.log.path).commands()) as commands:
        waiting = [
            {"command": each.id, **asdict(each.wish), "verb": each.wish.verb.value}
            for each in commands.waiting()
        ]
        tables = [_facts(each) for each in commands.reported()]
    return {
        "name": config.name,
        "capturing": writer_of(config.log.path) is not None,
        "tables": tables,
        "waiting": waiting,
    }


def following(file: Path, number: int) -> Iterator[list[dict[str, Any]]]:
    """The tables of one command, again and again until all of them have ended."""
    config = load_config(file)
    with closing(open_log(config.log.path).commands()) as commands:
        while True:
            mine = [each for each in commands.reported() if each.command == number]
            yield [_facts(each) for each in mine]
            failed = [each for each in mine if each.state is OwedState.FAILED]
            if failed:
                raise StateError("backfill-failed", failed[0].failure or "", where=failed[0].table)
            if mine and all(each.state.ended for each in mine):
                return
            if writer_of(config.log.path) is None:
                raise TransientError(
                    "backfill-interrupted", "capture has ended; the rest comes with its next run"
                )
            time.sleep(_POLL_S)


def check(config: Config, wish: Wish) -> None:
    """Say at once what a running capture could only answer."""
    can = open_source(config.source.url, source_options(config)).capabilities
    if not (can.backfill if wish.keys is None else can.reread):
        kind = config.source.url.scheme
        raise ConfigError("backfill-unsupported", f"{kind} cannot read rows beside its stream")


def _facts(owed: Owed) -> dict[str, Any]:
    return {**asdict(owed), "state": owed.state.value, "eta_s": owed.eta_s}


def _error(given: Mapping[str, str]) -> HeadwaterError:
    """The refusal as the error that it was in the other process."""
    kind = getattr(errors, given.get("kind", ""), StateError)
    return kind(given["code"], given["message"], where=given["where"], hint=given["hint"])


__all__ = ["Verb", "Wish", "ask", "following", "status"]
