"""Proof that target tables equal their source, exact while writers go on.

The target is read first, at the sequence S that it has applied. Then the source is read together
with its own position in one transaction. The log tells which event W that position is, and the
events in (S, W] are applied to the target's digests in memory. Both sides then stand at the same
moment, however many changes were committed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headwater.app.digest import Differences, Row, TableDigest, differences, new_digest
from headwater.contract import Clock, LogReader
from headwater.errors import TransientError
from headwater.event import Event, TableSchema

# A row in the form in which the target keeps it: what it has no type for is text there.
Stored = Callable[[Row, TableSchema], Row]

SHOWN_KEYS = 20
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class TableRows:
    """A table's rows as they stood when every event up to `sequence` was applied."""

    sequence: int
    rows: Iterator[Row]


class RowReader(Protocol):
    """The target: rows as canonical JSON values, by table."""

    def table(self, schema: TableSchema) -> TableRows | None:
        """The rows of a table, or None if the target does not have it yet."""
        ...


class SourceRows(Protocol):
    """The source at one position, within one read transaction."""

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table as canonical JSON values; `schema.table` where there are schemas."""
        ...

    def sequence(self, reader: LogReader, after: int) -> int | None:
        """The last event of the log at or before this position; None until the log holds it.

        It is not before `after`, which is where the search may begin.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableProof:
    """One table's comparison."""

    table: str
    source_count: int
    target_count: int
    source_hash: str
    target_hash: str
    differences: Differences
    rolled_forward: int

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.source_hash == self.target_hash and not len(self.differences)

    def as_dict(self) -> dict[str, Any]:
        """Plain values; of the differing keys, the first few."""
        found = self.differences
        return {
            "table": self.table,
            "equal": self.equal,
            "source": {"rows": self.source_count, "hash": self.source_hash},
            "target": {"rows": self.target_count, "hash": self.target_hash},
            "rolled_forward": self.rolled_forward,
            "differing": len(found),
            "missing": [_key(text) for text in found.missing[:SHOWN_KEYS]],
            "extra": [_key(text) for text in found.extra[:SHOWN_KEYS]],
            "different": [_key(text) for text in found.different[:SHOWN_KEYS]],
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """Every table's comparison, at one event of the log."""

    sequence: int
    tables: tuple[TableProof, ...]

    @property
    def equal(self) -> bool:
        """Whether every table is equal."""
        return all(table.equal for table in self.tables)


class _Side:
    """A target table's digest on its way to the common moment."""

    def __init__(self, digest: TableDigest, found: TableRows | None) -> None:
        self.digest = digest
        self.sequence = 0 if found is None else found.sequence
        self.rolled_forward = 0
        if found is not None:
            self.digest.fill(found.rows)


class Verifier:
    """Compares the tables of a log's schema history between a target and the source."""

    def __init__(
        self,
        reader: LogReader,
        target: RowReader,
        *,
        clock: Clock,
        timeout_s: float = 60.0,
        stored: Stored = lambda row, _schema: row,
    ) -> None:
        self._reader = reader
        self._target = target
        self._clock = clock
        self._timeout_s = timeout_s
        self._stored = stored

    def verify(
        self,
        schemas: Sequence[TableSchema],
        open_source: Callable[[], AbstractContextManager[SourceRows]],
        progress: Callable[[str], None] = lambda _table: None,
    ) -> Proof:
        """The proof for these tables. `progress` hears which table is read next."""
        sides: dict[str, tuple[TableSchema, _Side]] = {}
        for schema in schemas:
            progress(f"target {schema.table}")
            side = _Side(new_digest(schema.primary_key), self._target.table(schema))
            sides[str(schema.table)] = (schema, side)
        sources: dict[str, TableDigest] = {}
        with open_source() as source:
            for schema in schemas:
                progress(f"source {schema.table}")
                name = str(schema.table)
                stored = (self._stored(row, schema) for row in source.rows(name))
                sources[name] = new_digest(schema.primary_key).fill(stored)
        moment = self._moment(source, min((side.sequence for _, side in sides.values()), default=0))
        self._roll_forward(sides, moment)
        proofs = [_proof(name, side, sources[name]) for name, (_, side) in sides.items()]
        return Proof(moment, tuple(proofs))

    def _moment(self, source: SourceRows, after: int) -> int:
        """Wait until the log holds what the source held, and learn which event that was."""
        give_up = self._clock.monotonic_s() + self._timeout_s
        while True:
            sequence = source.sequence(self._reader, after)
            if sequence is not None:
                return sequence
            if self._clock.monotonic_s() > give_up:
                raise TransientError(
                    "verify-timeout",
                    f"the log did not reach the source's position in {self._timeout_s:g} s",
                )
            self._clock.sleep(_POLL_S)

    def _roll_forward(self, sides: dict[str, tuple[TableSchema, _Side]], moment: int) -> None:
        behind = min((side.sequence for _, side in sides.values()), default=moment)
        if behind >= moment:
            return
        for batch in self._reader.read(behind, moment):
            for event in batch:
                name = str(event.table_id)
                if name not in sides:
                    continue
                schema, side = sides[name]
                if event.sequence_number > side.sequence:
                    side.digest.apply(self._as_stored(event, schema))
                    side.rolled_forward += 1

    def _as_stored(self, event: Event, schema: TableSchema) -> Event:
        """The event with its images in the form in which the target keeps rows."""
        if event.unavailable_columns or event.before_is_key_only:
            return event  # it is not a whole row; the digest will say so

        def stored(image: dict[str, Any] | None) -> dict[str, Any] | None:
            return None if image is None else dict(self._stored(image, schema))

        return replace(event, before=stored(event.before), after=stored(event.after))


def _proof(name: str, side: _Side, source: TableDigest) -> TableProof:
    target = side.digest
    return TableProof(
        table=name,
        source_count=source.count,
        target_count=target.count,
        source_hash=f"{source.total:032x}",
        target_hash=f"{target.total:032x}",
        differences=differences(target, source),
        rolled_forward=side.rolled_forward,
    )


def _key(text: str) -> Any:
    return json.loads(text) if text.startswith("{") else text
