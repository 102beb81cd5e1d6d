"""Changes of a few tables in transactions, drawn from a seed: the same seed tells the same.

It begins with a snapshot. Then come inserts, updates, deletes, changed keys, rows without their
long values, a truncate, and a table that gets a column; now and then the server's clock is set
back. With `duplicates` some transactions come again with the same event ids, as they do from a
carrier that delivers at least once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from headwater.contract import SourceBatch
from headwater.event import (
    Column,
    EventBatch,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    event_ids,
)
from headwater.testing.builders import IDENTITY, TS_MS
from headwater.testing.history.table import ChangingTable, Told, columns_of

_AGAIN = 0.3
_SET_BACK_EVERY, _SET_BACK_MS = 7, 5


def _table(table: str, key: tuple[str, ...], /, **columns: str) -> TableSchema:
    return TableSchema(
        TableId("public", table),
        tuple(
            Column(each, LogicalType.parse(kind), nullable=each not in key)
            for each, kind in columns.items()
        ),
        key,
    )


CUSTOMERS = _table(
    "customers",
    ("id",),
    id="int64",
    name="string",
    balance="decimal(38,10)",
    joined="timestamptz",
    active="boolean",
    notes="string",
)
ORDERS = _table(
    "orders",
    ("region", "number"),
    region="string",
    number="int64",
    total="decimal(12,2)",
    placed="timestamp",
    tags="array<string>",
    lines="json",
    memo="string",
)
FILES = _table(
    "files",
    ("id",),
    id="int64",
    day="date",
    ratio="float64",
    digest="binary",
    content="string",
)
TABLES = (CUSTOMERS, ORDERS, FILES)
_LONG = {"customers": (), "orders": ("memo", "lines"), "files": ("content",)}


class SeededChanges:
    """Iterate once for the batches, one per transaction; `tables` then hold the end."""

    def __init__(self, seed: int = 1, transactions: int = 30, *, duplicates: bool = False) -> None:
        self._chooser = random.Random(seed)  # noqa: S311 - it has to be the same every time
        self._transactions = max(transactions, 4)
        self._duplicates = duplicates
        self._journal: list[Told] = []
        self._offset = 0
        self.tables = tuple(
            ChangingTable(
                self._chooser,
                schema,
                long=_LONG[schema.table.name],
                whole_before=schema is CUSTOMERS,
                journal=self._journal,
            )
            for schema in TABLES
        )

    def __iter__(self) -> Iterator[SourceBatch]:
        sent: list[EventBatch] = []
        for number, act in enumerate(self._acts(), start=1):
            act()
            if not self._journal:
                continue
            batch = self._committed(number)
            yield batch
            sent.append(batch.events)
            if self._duplicates and self._chooser.random() < _AGAIN:
                again = self._chooser.choice(sent[-3:])
                yield SourceBatch(again, batch.position, batch.schemas)

    def _acts(self) -> Iterator[Callable[[], None]]:
        """A snapshot, then transactions; what is rare happens once, somewhere."""
        yield self._snapshot
        rest = range(self._transactions - 1)
        widens, truncates = self._chooser.sample(rest, 2)
        for number in rest:
            yield self._live
            if number == widens:
                yield self._widen
            if number == truncates:
                yield self._truncate

    def _snapshot(self) -> None:
        for table in self.tables:
            for number in range(0, 12, 2):
                table.older(number)
                table.read(number)

    def _live(self) -> None:
        for _ in range(self._chooser.randint(1, 6)):
            self._chooser.choice(self.tables).step()

    def _widen(self) -> None:
        table = self._chooser.choice(self.tables)
        table.widen()
        table.step()

    def _truncate(self) -> None:
        table = self._chooser.choice(self.tables)
        table.truncate()
        table.step()

    def _committed(self, number: int) -> SourceBatch:
        """One transaction; of the first, which is the snapshot, nobody knows one."""
        told, self._journal[:] = list(self._journal), []
        offsets = [f"change:{self._offset + place}" for place in range(len(told))]
        self._offset += len(told)
        columns: dict[str, Any] = columns_of(told) | {
            "offset": offsets,
            "event_id": event_ids(IDENTITY.uid, offsets),
            "ts_ms": TS_MS + number,
            "source_ts_ms": TS_MS + number - number // _SET_BACK_EVERY * _SET_BACK_MS,
        }
        if any(event["op"] != int(Operation.READ) for event in told):
            columns["transaction"] = [
                {"tx_id": number, "total_events": len(told), "event_index": place}
                for place in range(len(told))
            ]
        schemas = dict.fromkeys(event["schema"] for event in told)
        return SourceBatch(
            EventBatch.from_columns(columns), Position({"change": self._offset}), tuple(schemas)
        )
