"""What the stream did to the rows of a chunk that waits.

An update may lack values that it did not change (unchanged TOAST). If the chunk's row were simply
left out for it, those values would never arrive. So the chunk's row is completed with what the
stream said, and goes into the log after the stream's own events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pyarrow as pa

from headwater.event import Operation

# A number with a fraction keeps its own digits: a float would round what a jsonb may hold.
_NUMBER = uuid4().hex

Key = str
"""The JSON of a row's key values: keys of every type compare by it."""


@dataclass(slots=True)
class _Change:
    """The latest known of one row. `whole` rows are in the log complete; None columns: deleted."""

    columns: dict[str, Any] | None
    whole: bool
    base: Key


@dataclass(slots=True)
class Overlay:
    """Changes by key, in the order of the stream."""

    key_columns: tuple[str, ...]
    emptied: bool = False
    _changes: dict[Key, _Change] = field(default_factory=dict)

    def note(self, events: pa.RecordBatch) -> None:
        """Take notice of events of the chunk's table that go into the log before the chunk."""
        columns = ("op", "before", "after", "unavailable_columns")
        for op, before, after, missing in zip(
            *(events.column(name).to_pylist() for name in columns), strict=True
        ):
            if op == Operation.TRUNCATE:
                self.emptied = True
                self._changes.clear()
            elif after is not None:
                self._written(before, _read(after), partial=bool(missing))
            elif before is not None:
                key = self.key(_read(before))
                self._changes[key] = _Change(None, whole=True, base=key)

    def _written(self, before: str | None, row: dict[str, Any], *, partial: bool) -> None:
        key = self.key(row)
        old = key if before is None else self.key(_read(before))
        earlier = self._changes.get(old)
        base = old if earlier is None else earlier.base
        known = {} if earlier is None or earlier.columns is None else earlier.columns
        whole = not partial or (earlier is not None and earlier.whole)
        if old != key:
            self._changes[old] = _Change(None, whole=True, base=old)
        self._changes[key] = _Change({**known, **row}, whole, base)

    def key(self, row: dict[str, Any]) -> Key:
        """A row's key."""
        return json.dumps([row.get(name) for name in self.key_columns])

    def key_of(self, text: str) -> Key:
        """The key of a row, or of a key alone, as JSON text."""
        return self.key(_read(text))

    def tells_of(self, key: Key) -> bool:
        """Whether the stream has told of the row."""
        return key in self._changes

    def applied(self, images: pa.Array, names: Sequence[str]) -> pa.Array:
        """The chunk's images as they stand after the stream: whole rows are left out."""
        if self.emptied:
            images = images.slice(0, 0)
        if not self._changes or not self.key_columns:
            return images
        rows = {self.key(_read(image)): image for image in images.to_pylist()}
        kept = [image for key, image in rows.items() if key not in self._changes]
        return pa.array([*kept, *self._completed(rows, names)], pa.string())

    def _completed(self, rows: dict[Key, str], names: Sequence[str]) -> Iterator[str]:
        for change in self._changes.values():
            if change.whole or change.columns is None or change.base not in rows:
                continue
            row = {**_read(rows[change.base]), **change.columns}
            yield _write({name: row[name] for name in names if name in row})


def _read(image: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(image, parse_float=lambda text: f"{_NUMBER}{text}{_NUMBER}")
    return row


def _write(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return text.replace(f'"{_NUMBER}', "").replace(f'{_NUMBER}"', "")
