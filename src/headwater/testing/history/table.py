"""A table in Python that tells its changes as a database does.

The table itself is the oracle of a mirror: nobody applies the events to know what it should hold.
As in PostgreSQL, a long value that an update leaves alone is not sent, and what stood before a
change is told by its key, unless `whole_before` says otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from headwater.contract import SourceBatch
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Position,
    TableSchema,
    encode_row,
)
from headwater.testing.history.values import any_value, key_values

CITY = Column("city", LogicalType(Kind.STRING))
Told = dict[str, Any]


@dataclass(slots=True)
class Row:
    """A row, and which of its values a mirror has heard; without a snapshot that may be few."""

    values: dict[str, Any]
    heard: set[str]


@dataclass
class ChangingTable:
    """The rows by number, and the events that were not yet taken.

    - `long`: columns that are sent only when they change.
    - `spare`: the column that `widen` adds.
    - `journal`: where changes are told; tables that share one share transactions.
    """

    chooser: random.Random
    schema: TableSchema
    long: tuple[str, ...] = ()
    spare: Column = CITY
    whole_before: bool = False
    rows: dict[int, Row] = field(default_factory=dict)
    journal: list[Told] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are not of the key."""
        key = self.schema.primary_key
        return tuple(each.name for each in self.schema.columns if each.name not in key)

    @property
    def waiting(self) -> int:
        """How many events were not yet taken."""
        return len(self.journal)

    def older(self, number: int) -> None:
        """A row from before the capture: its snapshot is still to come."""
        self.rows[number] = Row(self._fresh(), set())

    def insert(self, number: int) -> None:
        """A new row."""
        self.rows[number] = Row(self._fresh(), set(self.names))
        self._tell(Operation.INSERT, after=self._image(number))

    def update(self, number: int, *changed: str) -> None:
        """New values in these columns, which may be none."""
        self._change(number, number, changed)

    def move(self, number: int, to: int, *changed: str) -> None:
        """Another key, and new values in these columns."""
        self._change(number, to, changed)

    def delete(self, number: int) -> None:
        """The row goes."""
        gone = self._before(number)
        del self.rows[number]
        self._tell(Operation.DELETE, before=gone)

    def lose(self, number: int) -> None:
        """The row goes inside a gap that was accepted: nobody tells."""
        del self.rows[number]

    def truncate(self) -> None:
        """Every row goes."""
        self.rows.clear()
        self._tell(Operation.TRUNCATE)

    def read(self, number: int) -> None:
        """The row's snapshot comes."""
        self.rows[number].heard = set(self.names)
        self._tell(Operation.READ, after=self._image(number))

    def widen(self) -> None:
        """Add a column; everyone has NULL in it."""
        columns = (*self.schema.columns, self.spare)
        self.schema = TableSchema(self.schema.table, columns, self.schema.primary_key)
        for row in self.rows.values():
            row.values[self.spare.name] = None
            row.heard.add(self.spare.name)

    def take(self) -> Iterator[SourceBatch]:
        """The events since the last time, a batch per shape of the table."""
        told, self.journal[:] = list(self.journal), []
        for schema, events in groupby(told, lambda event: event["schema"]):
            yield SourceBatch(
                EventBatch.from_columns(columns_of(list(events))), Position({"n": 1}), (schema,)
            )

    def settle(self) -> dict[int, tuple[Any, ...]]:
        """What a mirror holds at the end of a batch: parts of rows are not kept (INV-10)."""
        held = {}
        for number, row in self.rows.items():
            if row.heard.issuperset(self.names):
                held[number] = tuple(row.values[name] for name in self.names)
            else:
                row.heard.clear()
        return held

    def step(self) -> None:
        """Anything that may happen, most of it to moved rows."""
        number = self.chooser.choice(list(self.rows)) if self.rows else None
        if number is None or self.chooser.random() < 0.15:
            self.insert(self._free())
            return
        common = self._common()
        changed = self.chooser.sample(common, self.chooser.choice((0, 1, 1, 2)))
        acts: tuple[Callable[[], None], ...] = (
            lambda: self.update(number, *changed),
            lambda: self.update(number, *changed),
            lambda: self.move(number, self._free(), *changed),
            lambda: self.move(number, self._free(), *changed),
            lambda: self.move(number, self._free(), *common),
            lambda: self.delete(number),
            lambda: self._come_again(number, changed),
            lambda: self.read(number),
        )
        self.chooser.choice(acts)()

    def _come_again(self, number: int, changed: list[str]) -> None:
        """A row goes and another, or the same, comes to where it was."""
        there = self._free()
        self.move(number, there, *changed)
        if self.chooser.random() < 0.5:
            self.insert(number)
        else:
            self.move(there, number)

    def _free(self) -> int:
        return self.chooser.choice([n for n in range(len(self.rows) * 2 + 5) if n not in self.rows])

    def _common(self) -> tuple[str, ...]:
        """The columns that a change may touch: a widened one has no value to tell it by."""
        return tuple(name for name in self.names if name != self.spare.name)

    def _fresh(self) -> dict[str, Any]:
        return {name: self.value(name) for name in self.names}

    def value(self, name: str) -> Any:
        """A new value for a column."""
        column = self.schema.column(name)
        assert column is not None  # noqa: S101 - it is one of ours
        return any_value(self.chooser, column)

    def key(self, number: int) -> dict[str, Any]:
        """The key of a row."""
        columns = [self.schema.column(name) for name in self.schema.primary_key]
        return key_values(tuple(each for each in columns if each is not None), number)

    def _change(self, number: int, to: int, changed: tuple[str, ...]) -> None:
        before = self._before(number) if number != to or self.whole_before else None
        row = self.rows.pop(number)
        self.rows[to] = row
        row.values.update({name: self.value(name) for name in changed})
        unsent = [name for name in self.long if name not in changed]
        row.heard.update(name for name in self.names if name not in unsent)
        sent = {name: value for name, value in self._image(to).items() if name not in unsent}
        self._tell(Operation.UPDATE, before=before, after=sent, unavailable_columns=unsent or None)

    def _before(self, number: int) -> dict[str, Any]:
        return self._image(number) if self.whole_before else self.key(number)

    def _image(self, number: int) -> dict[str, Any]:
        return self.key(number) | self.rows[number].values

    def _tell(self, op: Operation, **said: Any) -> None:
        images = {
            name: encode_row(value) if isinstance(value, dict) else value
            for name, value in said.items()
        }
        key_only = said.get("before") is not None and not self.whole_before
        self.journal.append(
            {"op": int(op), "schema": self.schema, "before_is_key_only": key_only, **images}
        )


_COLUMNS = ("op", "before", "after", "unavailable_columns", "before_is_key_only")


def columns_of(told: list[Told]) -> dict[str, Any]:
    """What was told, as the columns of a batch."""
    schemas: list[TableSchema] = [event["schema"] for event in told]
    return {
        **{name: [event.get(name) for event in told] for name in _COLUMNS},
        "offset": [str(number) for number in range(len(told))],
        "source_name": "postgres",
        # Commit times tie, and run back by as much as they gained in twenty events: only sequence
        # numbers order events.
        "source_ts_ms": [(number * 2 + number * 17 % 41) // 5 for number in range(len(told))],
        "ts_ms": 1,
        "schema_id": [schema.schema_id for schema in schemas],
        "table_schema": [schema.table.schema for schema in schemas],
        "table_name": [schema.table.name for schema in schemas],
        "primary_key": [list(schema.primary_key) for schema in schemas],
    }
