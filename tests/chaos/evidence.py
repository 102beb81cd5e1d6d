"""What a run left behind, as plain values: the log, what the sinks recorded, the cursors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from headwater.event import Operation
from headwater.log import SqliteLog
from tests.chaos.worker import Place

Image = dict[str, Any] | None


@dataclass(frozen=True)
class Seen:
    """An event as it was seen in the log or in a sink."""

    sequence: int
    event_id: str
    op: Operation
    offset: str
    table: str
    before: Image
    after: Image
    context: Image

    @property
    def change_id(self) -> int | None:
        """The number of the change in the source; None for snapshot rows and notices."""
        return int(self.offset) if self.offset.isdigit() else None


@dataclass(frozen=True)
class Evidence:
    """One look at a scenario's files while nobody writes them.

    `events` are all that the log ever showed: what retention took is known from the sink.
    """

    tail: int
    head: int
    events: list[Seen]
    borders: list[int]
    recorded: list[Seen]
    letters: list[Seen]
    file_offsets: list[str]
    file_durable: int
    cursors: dict[str, int]
    conflicts: list[str]


def collect(place: Place) -> Evidence:
    """Read everything; damage of the log is raised."""
    if not place.log.exists():
        return Evidence(1, 0, [], [], [], [], [], 0, {}, [])
    log = SqliteLog(place.log)
    reader = log.reader()
    try:
        bounds = reader.bounds()
        batches = list(reader.read(bounds.tail - 1))
    finally:
        reader.close()
    kept = [seen(row) for batch in batches for row in batch.records.to_pylist()]
    recorded = [seen(row) for row in _lines(place.record)]
    letters = [seen(letter["event"]) for letter in _lines(place.letters)]
    events, conflicts = _joined([*kept, *recorded, *letters])
    state = place.file.with_name(f"{place.file.name}.state")
    return Evidence(
        tail=bounds.tail,
        head=bounds.head,
        events=events,
        borders=[int(border) for batch in batches for border in batch.borders()],
        recorded=recorded,
        letters=letters,
        file_offsets=[line["source"]["offset"] for line in _lines(place.file)],
        file_durable=json.loads(state.read_text())["sequence_number"] if state.exists() else 0,
        cursors={cursor.name: cursor.acked for cursor in log.info().cursors},
        conflicts=conflicts,
    )


def seen(row: dict[str, Any]) -> Seen:
    """From a row of the event schema, or from a JSON copy of one."""
    event_id = row["event_id"]
    return Seen(
        sequence=row["sequence_number"],
        event_id=event_id.hex() if isinstance(event_id, bytes) else UUID(event_id).hex,
        op=Operation(row["op"]),
        offset=row["offset"],
        table=row["table_name"],
        before=_image(row["before"]),
        after=_image(row["after"]),
        context=_image(row["context"]),
    )


def _image(value: str | Image) -> Image:
    return json.loads(value) if isinstance(value, str) else value


def _lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines; a torn last one was never flushed."""
    if not path.exists():
        return []
    text = path.read_bytes()
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


def _joined(copies: list[Seen]) -> tuple[list[Seen], list[str]]:
    """One event per sequence number, and where two copies of one differ."""
    by_sequence: dict[int, Seen] = {}
    conflicts = [
        f"sequence {copy.sequence} stands for two events"
        for copy in copies
        if by_sequence.setdefault(copy.sequence, copy) != copy
    ]
    return [by_sequence[number] for number in sorted(by_sequence)], conflicts
