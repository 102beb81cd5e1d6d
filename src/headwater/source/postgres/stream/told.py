"""Messages that are not about rows, as events: tables emptied, made, altered, and what was said.

A table that was altered is noticed by the stream's next description of it, compared with the one
that the log was last given. The position carries a mark of that, so it does not matter whether a
capture was running, and a replay notices what the first reading noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headwater.event import EventBatch
from headwater.source.postgres.decode.pgoutput import (
    Control,
    LogicalMessage,
    Relation,
    RelationSeen,
    Truncate,
)
from headwater.source.postgres.events import truncation
from headwater.source.postgres.shapes import Shapes, mark_of
from headwater.source.postgres.stream import notices


@dataclass(frozen=True, slots=True)
class Notice:
    """One event and the message that it comes from.

    A change of shape is noticed only where the old one is known. So such an event is not numbered,
    and the ids of the others are the same whether it is there or not (INV-8). It has a `shape`
    instead: the table's number and the new mark.
    """

    message: int
    events: EventBatch
    shape: tuple[int, str] | None = None

    @property
    def suffix(self) -> str:
        """What its offset has behind the number of the event that follows."""
        return "" if self.shape is None else f":shape:{self.shape[0]}"


class Told:
    """Remembers how tables were described to the log, to notice when that changes.

    `wants_message` chooses applications' messages by their prefix.
    """

    def __init__(
        self, shapes: Shapes, marks: Mapping[int, str], wants_message: Callable[[str], bool]
    ) -> None:
        self._shapes = shapes
        self._wants_message = wants_message
        self._marks = dict(marks)
        self._met: dict[int, str] = {}

    def met(self) -> dict[int, str]:
        """Marks of the tables that were described for the first time, since this was last asked."""
        met, self._met = self._met, {}
        return met

    def notices(self, controls: Sequence[Control]) -> Iterator[Notice]:
        """The events that these messages stand for."""
        for control in controls:
            match control:
                case Truncate(message=message, relations=relations):
                    for relation in relations:
                        yield Notice(message, truncation(self._shapes.captured(relation)))
                case RelationSeen(message=message, relation=relation):
                    yield from self._described(message, relation)
                case LogicalMessage(message=message, prefix=notices.DDL_PREFIX, content=content):
                    event = notices.ddl_event(content)
                    if event is not None:
                        yield Notice(message, event)
                case LogicalMessage(transactional=True) if self._wants_message(control.prefix):
                    event = notices.message_event(control.prefix, control.content)
                    yield Notice(control.message, event)
                case _:
                    pass

    def _described(self, message: int, relation: Relation) -> Iterator[Notice]:
        oid, mark = relation.oid, mark_of(relation)
        known = self._marks.get(oid)
        self._marks[oid] = mark
        if known is None:
            self._met[oid] = mark
        elif known != mark:
            captured = self._shapes.captured(relation)
            event = notices.schema_change(
                captured, relation.schema, relation.name, "ALTER_TABLE", ""
            )
            yield Notice(message, event, shape=(oid, mark))
