"""Messages that are not about rows, as events: tables emptied, made, altered and dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwater.event import EventBatch
from headwater.source.postgres.decode.pgoutput import (
    Control,
    LogicalMessage,
    Relation,
    RelationSeen,
    Truncate,
)
from headwater.source.postgres.shapes import Shapes
from headwater.source.postgres.stream import notices


@dataclass(frozen=True, slots=True)
class Notice:
    """One event and the message that it comes from.

    A change of shape is noticed only by a process that saw the old one: such an event is not
    `numbered`, so that the ids of the others are the same whether it is there or not (INV-8).
    """

    message: int
    events: EventBatch
    numbered: bool = True


class Told:
    """Remembers how tables were described, to notice when that changes."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._known: dict[int, Relation] = {}

    def notices(self, controls: Sequence[Control]) -> Iterator[Notice]:
        """The events that these messages stand for."""
        for control in controls:
            match control:
                case Truncate(message=message, relations=relations):
                    for relation in relations:
                        yield Notice(message, notices.truncate(self._shapes.captured(relation)))
                case RelationSeen(message=message, relation=relation):
                    yield from self._described(message, relation)
                case LogicalMessage(message=message, prefix=notices.DDL_PREFIX, content=content):
                    event = notices.ddl_event(content)
                    if event is not None:
                        yield Notice(message, event)
                case _:
                    pass

    def _described(self, message: int, relation: Relation) -> Iterator[Notice]:
        known = self._known.get(relation.oid)
        self._known[relation.oid] = relation
        if known is not None and (known.name, known.columns) != (relation.name, relation.columns):
            captured = self._shapes.captured(relation)
            event = notices.schema_change(
                captured, relation.schema, relation.name, "ALTER_TABLE", ""
            )
            yield Notice(message, event, numbered=False)
