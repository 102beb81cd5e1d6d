"""Rows of which events tell a part, put together as the target will put them together.

A source may leave out long values that an update did not change. Such a value is what an earlier
event said, or what the target holds: never what the source holds, for that is what it is compared
with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.ranges import Entry
from headwater.app.proof.target import Texts


@dataclass(frozen=True, slots=True)
class Part:
    """A row's columns as texts, after events; those that are NULL are left out.

    No event has told the columns that are `missing`: they are as in the table's row at `base`.
    """

    key: str
    base: str
    texts: Mapping[str, str]
    missing: frozenset[str] = frozenset()

    def merged(self, later: Part) -> Part:
        """With a later event's part laid over it."""
        kept = {name: text for name, text in self.texts.items() if name in later.missing}
        return Part(later.key, self.base, {**kept, **later.texts}, self.missing & later.missing)

    @property
    def size(self) -> int:
        """Characters that are held."""
        return sum(map(len, self.texts.values()))


def completed(parts: Mapping[str, Part], table: Texts | None, encoder: Encoder) -> Iterator[Entry]:
    """The parts, by their places, as whole rows.

    A part of a row that the table does not have is none, in the target too (INV-10).
    """
    based = {part.base: place for place, part in parts.items() if part.missing}
    for place, part in parts.items():
        if not part.missing:
            yield _entry(place, part, part.texts, encoder)
    if not based or table is None:
        return
    wanted = frozenset[str]().union(*(parts[place].missing for place in based.values()))
    # One key twice in the table is two rows, as it will be there.
    for base, texts in table(based.keys(), wanted):
        part = parts[based[base]]
        held = {name: text for name, text in texts.items() if name in part.missing}
        yield _entry(based[base], part, {**part.texts, **held}, encoder)


def _entry(place: str, part: Part, texts: Mapping[str, str], encoder: Encoder) -> Entry:
    return Entry(place, encoder.hash_of(texts).hex(), part.key)
