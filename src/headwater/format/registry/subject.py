"""Under which subject a schema is registered, by the three customary rules.

A topic is a pattern: `{source}`, `{schema}` and `{table}` stand for the event's own; a part that
the event does not have goes with the dot behind it. A logical message has no table: `{table}` is
`message` for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from headwater.errors import ConfigError
from headwater.event import EventBatch

Part = Literal["key", "value"]

_COLUMNS = {"source": "source_name", "schema": "table_schema", "table": "table_name"}
_NO_TABLE = "message"
_PLACE = re.compile(r"\{([^{}]*)\}(\.?)")


class Strategy(StrEnum):
    """How a subject gets its name."""

    TOPIC_NAME = "topic-name"  # shop.orders-value
    RECORD_NAME = "record-name"  # headwater.public.orders.Event
    TOPIC_RECORD_NAME = "topic-record-name"  # shop.orders-headwater.public.orders.Event


@dataclass(frozen=True, slots=True)
class Subjects:
    """A rule for subjects, and the topics that it speaks of."""

    topic: str = "{schema}.{table}"
    strategy: Strategy = Strategy.TOPIC_NAME

    def __post_init__(self) -> None:
        unknown = [name for name, _ in _PLACE.findall(self.topic) if name not in _COLUMNS]
        if unknown or not self.topic:
            raise ConfigError(
                "config-invalid",
                f"the topic {self.topic!r} cannot be told of an event",
                hint="use {source}, {schema} and {table}, as in shop.{table}",
            )

    @property
    def apart(self) -> bool:
        """Whether messages have subjects of their own, which no rows share."""
        return "{table}" in self.topic and self.strategy is not Strategy.RECORD_NAME

    def topics(self, batch: EventBatch) -> list[str]:
        """The topic of each event."""
        names = [name for name, _ in _PLACE.findall(self.topic)]
        if not names:
            return [self.topic] * len(batch)
        columns = [self._values(batch, name) for name in names]
        rows = list(zip(*columns, strict=True))
        known = {row: self._filled(row) for row in set(rows)}
        return [known[row] for row in rows]

    def subject(self, topic: str, record: str, part: Part) -> str:
        """The subject of a schema."""
        match self.strategy:
            case Strategy.TOPIC_NAME:
                return f"{topic}-{part}"
            case Strategy.RECORD_NAME:
                return record
            case Strategy.TOPIC_RECORD_NAME:
                return f"{topic}-{record}"

    def _values(self, batch: EventBatch, name: str) -> list[str | None]:
        values: list[str | None] = batch.column(_COLUMNS[name]).to_pylist()
        return [value or _NO_TABLE for value in values] if name == "table" else values

    def _filled(self, values: Sequence[str | None]) -> str:
        left = iter(values)
        return _PLACE.sub(lambda place: _and_dot(next(left), place[2]), self.topic)


def _and_dot(value: str | None, dot: str) -> str:
    return f"{value}{dot}" if value else ""
