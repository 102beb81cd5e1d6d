"""Steering: commands that people write down reach the source, and what it owes is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from headwater.contract import (
    Answer,
    Backfills,
    Clock,
    Command,
    Commands,
    Owed,
    OwedState,
    Source,
    SourceBatch,
    Verb,
    Wish,
)
from headwater.errors import ConfigError, StateError
from headwater.runtime.meter import Meter

_LOOK_S = 0.5
# What has ended stays on the list for people to see, but not for ever.
_ENDED_SHOWN = 20

_Key = tuple[int | None, str]


class Steering:
    """Looks for commands from time to time, for one session of the capture loop.

    A command is answered only after the log holds the place with which the source took it. A crash
    before that lets it be given again, and a source takes the same command once.
    """

    def __init__(
        self, commands: Commands, source: Source, clock: Clock, log: logging.Logger
    ) -> None:
        self._commands = commands
        self._log = log
        self._source = source
        self._clock = clock
        self._look_at_s = clock.monotonic_s()
        self._meters: dict[_Key, tuple[Meter, int]] = {}
        self._reported = commands.reported()

    def look(self, keep: Callable[[SourceBatch], None]) -> None:
        """If it is time: carry out what is asked, in order; `keep` makes a batch durable."""
        now_s = self._clock.monotonic_s()
        if now_s < self._look_at_s:
            return
        self._look_at_s = now_s + _LOOK_S
        self._report(gone=OwedState.DONE)
        for command in self._commands.waiting():
            if not self._given(command, keep):
                return  # not yet; those after it wait, too

    def _given(self, command: Command, keep: Callable[[SourceBatch], None]) -> bool:
        try:
            batch = self._able(command.wish).take(command)
        except (ConfigError, StateError) as refusal:
            self._commands.answer(command.id, Answer(refusal.as_dict()))
            # Nobody may be waiting for the answer: tables ask for values by themselves.
            facts = {"command": command.id, "table": command.wish.table, "code": refusal.code}
            self._log.warning("a command was refused", extra=facts)
            return True
        if batch is None:
            return False
        keep(batch)
        stopping = command.wish.verb is Verb.STOP
        self._report(gone=OwedState.STOPPED if stopping else OwedState.DONE)
        self._commands.answer(command.id, Answer())
        return True

    def _able(self, wish: Wish) -> Backfills:
        can = self._source.capabilities
        able = can.backfill if wish.keys is None else can.reread
        if able and isinstance(self._source, Backfills):
            return self._source
        name = self._source.identity.name
        raise ConfigError("backfill-unsupported", f"{name} cannot read rows beside its stream")

    def _report(self, *, gone: OwedState) -> None:
        """Say what has changed; what the source no longer speaks of is over."""
        if not isinstance(self._source, Backfills):
            return
        owed = {_key(each): self._measured(each) for each in self._source.owed()}
        before = {_key(each): each for each in self._reported}
        over = [
            each if each.state.ended else replace(each, state=gone, rate=None)
            for key, each in before.items()
            if key not in owed
        ]
        now = (*over[-_ENDED_SHOWN:], *owed.values())
        if now != self._reported:
            self._commands.report(now)
            self._reported = now

    def _measured(self, owed: Owed) -> Owed:
        if owed.state is not OwedState.READING:
            return owed
        meter, before = self._meters.get(_key(owed), (Meter(self._clock), owed.rows_done))
        meter.add(max(owed.rows_done - before, 0))
        self._meters[_key(owed)] = (meter, owed.rows_done)
        return replace(owed, rate=round(meter.per_second(), 1))


def _key(owed: Owed) -> _Key:
    return owed.command, owed.table
