"""What the log says between the moment of a target table and that of the source.

A row that an event tells of is what the event says, whatever the table holds: so its place is left
out of the table, and the event's row is taken instead. What an event leaves out is as it was told
before, or as the table holds it. The table is read when the log has told what to leave out.
"""

from __future__ import annotations

from collections import Counter

from headwater.app.proof.encoding import Encoder, Row
from headwater.app.proof.part import Part, completed
from headwater.app.proof.ranges import Entry, MemorySide, Side, SumSide
from headwater.app.proof.target import TargetTable
from headwater.errors import DataError, TransientError
from headwater.event import Delete, Event, Merge, NoWrite, Operation, Replace, Truncate, row_write

MAX_MOVED = 1_000_000
MAX_HELD_CHARACTERS = 256_000_000


class Moves:
    """The rows of one table that events after its moment tell of."""

    def __init__(
        self,
        encoder: Encoder,
        max_moved: int = MAX_MOVED,
        max_held: int = MAX_HELD_CHARACTERS,
    ) -> None:
        self.events = 0
        self._encoder = encoder
        self._max_moved = max_moved
        self._max_held = max_held
        self._emptied = False
        # Where events tell parts of rows: a whole row that is told there before is kept as texts.
        self._expected: set[str] = set()
        self._rows: dict[str, Entry | Part | None] = {}
        self._held = 0
        self._counts: Counter[str] = Counter()

    def expect(self, event: Event) -> None:
        """Learn of an event that tells a part of a row, before any is applied."""
        match row_write(event):
            case Merge(columns=columns, moved_from=moved_from) if self._encoder.key:
                self._expected |= {self._place(columns), self._place(moved_from or columns)}
                self._check(event, len(self._expected))
            case _:
                pass

    def apply(self, event: Event) -> None:
        """Take notice of an event; one from which no row can be known is refused."""
        self.events += 1
        if self._encoder.key:
            self._apply_keyed(event)
        else:
            self._apply_counted(event)
        self._check(event, len(self._rows) + len(self._counts))

    def _check(self, event: Event, moved: int) -> None:
        if moved > self._max_moved:
            raise _behind(event, f"{self._max_moved:,} changed rows")
        if self._held > self._max_held:
            raise _behind(event, f"{self._max_held:,} characters of rows that changed in part")

    def _apply_keyed(self, event: Event) -> None:
        match row_write(event):
            case Replace(row=row, moved_from=moved_from):
                if moved_from is not None:
                    self._put(self._place(moved_from), None)
                place = self._place(row)
                self._put(place, self._whole(place, row))
            case Merge(columns=columns, unavailable=unavailable, moved_from=moved_from):
                self._merge(columns, frozenset(unavailable), moved_from)
            case Delete(key=key):
                self._put(self._place(key), None)
            case Truncate():
                self._clear()
            case NoWrite(reason="schema_change" | "message"):
                pass
            case NoWrite(reason=reason):
                raise _undecidable(event, reason)

    def _whole(self, place: str, row: Row) -> Entry | Part:
        name = self._encoder.name(row)
        if place in self._expected:
            return Part(name, place, self._encoder.texts(row))
        return Entry(place, self._encoder.hash(row).hex(), name)

    def _merge(self, columns: Row, unsent: frozenset[str], moved_from: Row | None) -> None:
        place, left = self._place(columns), self._place(moved_from or columns)
        told = self._encoder.texts(columns)
        part = Part(self._encoder.name(columns), left, told, unsent)
        match self._rows.get(left):
            case None if left in self._rows or self._emptied:
                found = None  # of a row that is gone: the target makes none of it either (INV-10)
            case None:
                found = part
            case Part() as before:
                found = before.merged(part)
            case Entry():
                raise ValueError(f"a part of the row {part.key} was not expected")
        self._put(left, None)
        self._put(place, found)

    def _put(self, place: str, row: Entry | Part | None) -> None:
        before = self._rows.get(place)
        if isinstance(before, Part):
            self._held -= before.size
        if isinstance(row, Part):
            self._held += row.size
        self._rows[place] = row

    def _apply_counted(self, event: Event) -> None:
        """Without a key the images themselves come and go."""
        if event.op in (Operation.SCHEMA_CHANGE, Operation.MESSAGE):
            return
        if event.op is Operation.TRUNCATE:
            self._clear()
        partial = event.unavailable_columns or event.before_unavailable_columns
        if partial or event.before_is_key_only:
            raise _undecidable(event, "it does not carry the whole row")
        for image, count in ((event.before, -1), (event.after, 1)):
            if image is not None:
                self._counts[self._encoder.hash(image).hex()] += count

    def over(self, table: TargetTable | None) -> Side:
        """The table as it is after the events; None is a table that is not there."""
        moved = [entry for entry in self._rows.values() if isinstance(entry, Entry)]
        parts = {place: row for place, row in self._rows.items() if isinstance(row, Part)}
        moved += completed(parts, None if table is None else table.texts, self._encoder)
        moved += [Entry(each, each, "", count) for each, count in self._counts.items() if count]
        if table is None or self._emptied:
            return MemorySide(moved)
        rows = table.rows(frozenset(self._rows))
        return SumSide(rows, MemorySide(moved)) if moved else rows

    def _clear(self) -> None:
        self._emptied = True
        self._rows.clear()
        self._held = 0
        self._counts.clear()

    def _place(self, key: Row) -> str:
        return self._encoder.place(key).hex()


def _behind(event: Event, much: str) -> TransientError:
    return TransientError(
        "verify-behind",
        f"more than {much} are in the log and not in the table",
        where=str(event.table_id),
    )


def _undecidable(event: Event, reason: str) -> DataError:
    return DataError(
        "verify-undecidable",
        f"event {event.sequence_number} cannot be replayed for the comparison: {reason}",
        where=str(event.table_id),
    )
