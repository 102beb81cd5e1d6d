"""What the log says between the moment of a target table and that of the source.

A row that an event tells of is what the event says, whatever the table holds: so its place is left
out of the table, and the event's row is taken instead. The table is read when the log has told what
to leave out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headwater.app.proof.encoding import Encoder, Row
from headwater.app.proof.ranges import Entry, MemorySide, Side, SumSide
from headwater.errors import DataError, TransientError
from headwater.event import Delete, Event, Merge, NoWrite, Operation, Replace, Truncate, row_write

MAX_MOVED = 1_000_000
# A table's rows without those at the given places.
Without = Callable[[frozenset[str]], Side]


class Moves:
    """The rows of one table that events after its moment tell of."""

    def __init__(self, encoder: Encoder, max_moved: int = MAX_MOVED) -> None:
        self.events = 0
        self._encoder = encoder
        self._max_moved = max_moved
        self._emptied = False
        self._rows: dict[str, Entry | None] = {}
        self._counts: Counter[str] = Counter()

    def apply(self, event: Event) -> None:
        """Take notice of an event; one that does not carry the whole row is refused."""
        self.events += 1
        if self._encoder.key:
            self._apply_keyed(event)
        else:
            self._apply_counted(event)
        if len(self._rows) + len(self._counts) > self._max_moved:
            raise TransientError(
                "verify-behind",
                f"more than {self._max_moved:,} changed rows are in the log and not in the table",
                where=str(event.table_id),
            )

    def _apply_keyed(self, event: Event) -> None:
        match row_write(event):
            case Replace(row=row, moved_from=moved_from):
                if moved_from is not None:
                    self._rows[self._place(moved_from)] = None
                place = self._place(row)
                self._rows[place] = self._entry(place, row)
            case Delete(key=key):
                self._rows[self._place(key)] = None
            case Truncate():
                self._clear()
            case Merge():
                raise _undecidable(event, "it does not carry the whole row")
            case NoWrite(reason="schema_change" | "message"):
                pass
            case NoWrite(reason=reason):
                raise _undecidable(event, reason)

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

    def over(self, table: Without | None) -> Side:
        """The table as it is after the events; None is a table that is not there."""
        moved = [entry for entry in self._rows.values() if entry is not None]
        moved += [Entry(each, each, "", count) for each, count in self._counts.items() if count]
        if table is None or self._emptied:
            return MemorySide(moved)
        rows = table(frozenset(self._rows))
        return SumSide(rows, MemorySide(moved)) if moved else rows

    def _clear(self) -> None:
        self._emptied = True
        self._rows.clear()
        self._counts.clear()

    def _place(self, key: Row) -> str:
        return self._encoder.place(key).hex()

    def _entry(self, place: str, row: Row) -> Entry:
        return Entry(place, self._encoder.hash(row).hex(), self._encoder.name(row))


def _undecidable(event: Event, reason: str) -> DataError:
    return DataError(
        "verify-undecidable",
        f"event {event.sequence_number} cannot be replayed for the comparison: {reason}",
        where=str(event.table_id),
    )
