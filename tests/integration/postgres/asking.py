"""A capture by hand that takes commands, on a small shop whose rows nobody has read yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from headwater.contract import Command, Owed, Phase, SourceBatch, Verb, Wish
from headwater.errors import HeadwaterError
from headwater.event import Event, Operation
from headwater.source.postgres import PostgresSourceConfig
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import PATIENCE_S, Capture, publish

ROWS = 40
_COLUMNS = ("id", "pad", "n", "body")
# Long enough to be stored beside the row: the stream leaves it out where it did not change.
_LONG = "(SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 100) j)"
SHOP = f"""
CREATE TABLE t (id int PRIMARY KEY, pad text, n int, body text);
INSERT INTO t SELECT i, repeat('x', 1800), 0, {_LONG} FROM generate_series(1, {ROWS}) i;
CREATE TABLE u (id int PRIMARY KEY, n int);
INSERT INTO u SELECT i, i FROM generate_series(1, 10) i;
CREATE TABLE bare (n int); ALTER TABLE bare REPLICA IDENTITY FULL;
CREATE TABLE secret (id int PRIMARY KEY, word text)
"""


@dataclass
class Asking:
    """A capture that takes commands as the loop gives them."""

    capture: Capture
    numbers: count[int] = field(default_factory=lambda: count(1))

    def ask(self, verb: Verb, table: str | None = None, **given: Any) -> Command:
        command = Command(next(self.numbers), Wish(verb=verb, table=table, **given))
        self.give(command)
        return command

    def give(self, command: Command) -> None:
        batch = self.capture.source.take(command)
        assert batch is not None
        self.capture.writer.append(batch)

    def refused(self, verb: Verb, table: str | None = None, **given: Any) -> str:
        with pytest.raises(HeadwaterError) as caught:
            self.ask(verb, table, **given)
        return caught.value.code

    def owed(self) -> dict[str, Owed]:
        return {each.table: each for each in self.capture.source.owed()}

    def chunk(self) -> SourceBatch:
        """Go on until a chunk is in the log."""
        while (batch := self.capture.step(timeout_s=0.05)) is None or batch.phase is Phase.STREAM:
            pass
        return batch

    def finish(self) -> list[Event]:
        """Everything in the log once nothing is owed and the stream is quiet."""
        deadline = time.monotonic() + PATIENCE_S
        while self.capture.step(timeout_s=0.2) is not None or self.capture.place.snapshot:
            assert time.monotonic() < deadline, self.owed()
        return list(self.capture.log.events())


def quiet(shop: PostgresDatabase, **settings: Any) -> PostgresSourceConfig:
    """A capture that has read no rows, a page to a chunk, and leaves one table out."""
    settings = {"chunk_rows": 1, "snapshot": False, "exclude": ("secret",)} | settings
    return publish(shop, **settings)


def reads(events: Sequence[Event], table: str = "t") -> list[int]:
    return [
        event.after["id"]
        for event in events
        if event.op is Operation.READ and event.table == table and event.after
    ]


def truth(shop: PostgresDatabase, table: str = "t") -> dict[tuple[Any, ...], dict[str, Any]]:
    names = _COLUMNS if table == "t" else ("id", "n")
    found = shop.sql(f"SELECT {', '.join(names)} FROM {table}")
    return {(row[0],): dict(zip(names, row, strict=True)) for row in found}


def settled(capture: Capture) -> Asking:
    capture.settle()
    return Asking(capture)
