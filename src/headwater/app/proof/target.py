"""What a proof asks of the target's side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from headwater.app.proof.ranges import Side
from headwater.event import TableSchema

# A table's rows without those at the given places.
Without = Callable[[frozenset[str]], Side]
# Of the rows at these places, each with its place, the texts of these columns that are not NULL.
Texts = Callable[[Collection[str], Collection[str]], Iterator[tuple[str, Mapping[str, str]]]]


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A target table that stands as every event up to `sequence` has left it, or is wrong."""

    sequence: int
    rows: Without
    texts: Texts


class Target(Protocol):
    """The tables that follow the log."""

    def table(self, schema: TableSchema) -> TargetTable | None:
        """A table as it is now, or None if the target does not have it."""
        ...
