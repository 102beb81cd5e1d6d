"""A table in Python that tells its changes as PostgreSQL does: long values that stay are not sent.

The table itself is the oracle: nobody applies the events to know what a mirror should hold.
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
    TableId,
    TableSchema,
    encode_row,
)

LONG = ("body", "a.side")
OTHERS = (*LONG, "views")
CITY = Column("city", LogicalType(Kind.STRING))


LETTERS = TableSchema(
    table=TableId("public", "letters"),
    columns=(
        Column("shelf", LogicalType(Kind.STRING), nullable=False),
        Column("id", LogicalType(Kind.INT64), nullable=False),
        *(Column(name, LogicalType(Kind.STRING)) for name in LONG),
        Column("views", LogicalType(Kind.INT64)),
    ),
    primary_key=("shelf", "id"),
)


@dataclass(slots=True)
class _Row:
    """A row, and which of its values a mirror has heard; without a snapshot that may be few."""

    values: dict[str, Any]
    heard: set[str]


@dataclass
class Letters:
    """The rows by number, and the events that were not yet taken."""

    chooser: random.Random
    schema: TableSchema = LETTERS
    rows: dict[int, _Row] = field(default_factory=dict)
    _events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._names = [column.name for column in self.schema.columns[2:]]

    @property
    def waiting(self) -> int:
        return len(self._events)

    def older(self, number: int) -> None:
        """A row from before the capture: its snapshot is still to come."""
        self.rows[number] = _Row(self._fresh(), set())

    def insert(self, number: int) -> None:
        self.rows[number] = _Row(self._fresh(), set(self._names))
        self._tell(Operation.INSERT, after=self._image(number))

    def update(self, number: int, *changed: str) -> None:
        self._change(number, number, changed)

    def move(self, number: int, to: int, *changed: str) -> None:
        self._change(number, to, changed)

    def delete(self, number: int) -> None:
        del self.rows[number]
        self._tell(Operation.DELETE, before=_key(number))

    def lose(self, number: int) -> None:
        """The row goes inside a gap that was accepted: nobody tells."""
        del self.rows[number]

    def truncate(self) -> None:
        self.rows.clear()
        self._tell(Operation.TRUNCATE)

    def read(self, number: int) -> None:
        """The row's snapshot comes."""
        self.rows[number].heard = set(self._names)
        self._tell(Operation.READ, after=self._image(number))

    def widen(self) -> None:
        """Add a column; everyone has NULL in it."""
        columns = (*self.schema.columns, CITY)
        self.schema = TableSchema(self.schema.table, columns, self.schema.primary_key)
        self._names.append(CITY.name)
        for row in self.rows.values():
            row.values[CITY.name] = None
            row.heard.add(CITY.name)

    def take(self) -> Iterator[SourceBatch]:
        """The events since the last time, a batch per shape of the table."""
        told, self._events = self._events, []
        for schema, events in groupby(told, lambda event: event.pop("schema")):
            yield SourceBatch(_batch(schema, list(events)), Position({"n": 1}), (schema,))

    def settle(self) -> dict[int, tuple[Any, ...]]:
        """What a mirror holds at the end of a batch: parts of rows are not kept (INV-10)."""
        held = {}
        for number, row in self.rows.items():
            if row.heard.issuperset(self._names):
                held[number] = tuple(row.values[name] for name in self._names)
            else:
                row.heard.clear()
        return held

    def step(self) -> None:
        """Anything that may happen, most of it to moved rows."""
        number = self.chooser.choice(list(self.rows)) if self.rows else None
        if number is None or self.chooser.random() < 0.15:
            self.insert(self._free())
            return
        changed = self.chooser.sample(OTHERS, self.chooser.choice((0, 1, 1, 2)))
        acts: tuple[Callable[[], None], ...] = (
            lambda: self.update(number, *changed),
            lambda: self.update(number, *changed),
            lambda: self.move(number, self._free(), *changed),
            lambda: self.move(number, self._free(), *changed),
            lambda: self.move(number, self._free(), *OTHERS),
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

    def _fresh(self) -> dict[str, Any]:
        return {name: self._value(name) for name in self._names}

    def _value(self, name: str) -> Any:
        if name == "views":
            return self.chooser.randint(0, 10**6)
        text = f"{name} {self.chooser.random()}"
        return self.chooser.choice((text, text, text, None))

    def _change(self, number: int, to: int, changed: tuple[str, ...]) -> None:
        row = self.rows.pop(number)
        self.rows[to] = row
        row.values.update({name: self._value(name) for name in changed})
        unsent = [name for name in LONG if name not in changed]
        row.heard.update(name for name in self._names if name not in unsent)
        sent = {name: value for name, value in self._image(to).items() if name not in unsent}
        before = _key(number) if number != to else None
        self._tell(Operation.UPDATE, before=before, after=sent, unavailable_columns=unsent or None)

    def _image(self, number: int) -> dict[str, Any]:
        return _key(number) | self.rows[number].values

    def _tell(self, op: Operation, **said: Any) -> None:
        images = {
            name: encode_row(value) if isinstance(value, dict) else value
            for name, value in said.items()
        }
        self._events.append({"op": int(op), "schema": self.schema, **images})


_COLUMNS = ("op", "before", "after", "unavailable_columns")


def _batch(schema: TableSchema, told: list[dict[str, Any]]) -> EventBatch:
    return EventBatch.from_columns(
        {
            **{name: [event.get(name) for event in told] for name in _COLUMNS},
            "offset": [str(number) for number in range(len(told))],
            "source_name": "postgres",
            # Commit times may tie and run backwards: only sequence numbers order events.
            "source_ts_ms": [number * 7 % 5 for number in range(len(told))],
            "before_is_key_only": [event.get("before") is not None for event in told],
            "ts_ms": 1,
            "schema_id": schema.schema_id,
            "table_schema": schema.table.schema,
            "table_name": schema.table.name,
            "primary_key": [list(schema.primary_key)] * len(told),
        }
    )


def _key(number: int) -> dict[str, Any]:
    return {"shelf": f"s{number % 3}", "id": number}
