"""Both sides of every table at one event of the log, exact while writers go on.

The target's tables are fixed first, each at the sequence S up to which it must have everything.
Then the source is read together with its own position in one transaction. The log tells which event
W that position is, and the events in (S, W] are laid over the target. Both sides then stand at the
same moment, however many changes were committed meanwhile.

Nothing is laid over a table that is not there: with the events of the whole log it would always
equal the source, and the log would be proven instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Protocol

from headwater.app.proof.between import Between
from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import MAX_KEYS, Comparison, Differences, compare
from headwater.app.proof.roll import Moves
from headwater.app.proof.spill import Spill
from headwater.app.proof.target import Target, TargetTable
from headwater.contract import Clock, LogReader
from headwater.errors import HeadwaterError, TransientError
from headwater.event import TableId, TableSchema
from headwater.event.verbatim import Image

_POLL_S = 0.05
_TELL_EVERY_ROWS = 20_000


class SourceRows(Protocol):
    """The source at one position, within one read transaction."""

    def images(self, table: TableId) -> Iterator[Image]:
        """The rows of a table as row images."""
        ...

    def estimate(self, table: TableId) -> int | None:
        """About how many rows there are; None if nobody knows."""
        ...

    def sequence(self, reader: LogReader, after: int) -> int | None:
        """The last event of the log at or before this position; None until the log holds it.

        It is not before `after`, which is where the search may begin.
        """
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """How far the proof is: a side of a table, and its rows so far."""

    table: str
    side: str
    rows_done: int = 0
    rows_total: int | None = None

    def __str__(self) -> str:
        return f"{self.side} {self.table}"


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class TableProof:
    """One table's comparison."""

    table: str
    compared: Comparison
    rolled_forward: int

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.compared.equal

    @property
    def differences(self) -> Differences:
        """The keys that differ."""
        return self.compared.differences


@dataclass(frozen=True, slots=True)
class Undecided:
    """A table that could not be compared, and why."""

    table: str
    reason: HeadwaterError


@dataclass(frozen=True, slots=True)
class Proof:
    """Every table's comparison, at one event of the log."""

    sequence: int
    tables: tuple[TableProof, ...]
    undecided: tuple[Undecided, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether every table is known to be equal."""
        return not self.undecided and all(table.equal for table in self.tables)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long to wait for the log, and how many differing keys of a table to look for."""

    timeout_s: float = 60.0
    max_keys: int = MAX_KEYS


class Verifier:
    """Compares the tables of a log's schema history between a target and the source."""

    def __init__(
        self,
        reader: LogReader,
        target: Target,
        *,
        clock: Clock,
        bounds: Bounds | None = None,
    ) -> None:
        self._reader = reader
        self._target = target
        self._clock = clock
        self._bounds = bounds or Bounds()

    def verify(
        self,
        schemas: Sequence[TableSchema],
        open_source: Callable[[], AbstractContextManager[SourceRows]],
        progress: Progress = lambda _step: None,
    ) -> Proof:
        """The proof for these tables."""
        encoders = {str(schema.table): Encoder(schema) for schema in schemas}
        targets = {str(schema.table): self._target.table(schema) for schema in schemas}
        # What a table lacks of events that the log holds no more is a difference, too.
        tail = self._reader.bounds().tail - 1
        reached = {name: max(found.sequence, tail) for name, found in targets.items() if found}
        with ExitStack() as spills:
            sources: dict[str, Spill] = {}
            with open_source() as source:
                for schema in schemas:
                    encoder = encoders[str(schema.table)]
                    spill = sources[str(schema.table)] = spills.enter_context(Spill(encoder))
                    _read(source, schema.table, encoder, spill, progress)
            moment = self._moment(source, min(reached.values(), default=tail))
            moved = Between(self._reader, encoders, reached, moment).moved()
            proofs: list[TableProof] = []
            undecided: list[Undecided] = []
            for name, found in targets.items():
                match moved[name]:
                    case Moves() as moves:
                        keyed = bool(encoders[name].key)
                        side = _Sides(name=name, target=found, source=sources[name], keyed=keyed)
                        proofs.append(self._compared(side, moves, progress))
                    case reason:
                        undecided.append(Undecided(name, reason))
        return Proof(moment, tuple(proofs), tuple(undecided))

    def _compared(self, sides: _Sides, moves: Moves, progress: Progress) -> TableProof:
        progress(Step(sides.name, "target", 0, sides.source.rows))
        compared = compare(
            moves.over(sides.target),
            sides.source,
            keyed=sides.keyed,
            max_keys=self._bounds.max_keys,
        )
        progress(Step(sides.name, "target", compared.target.rows, compared.target.rows))
        return TableProof(sides.name, compared, moves.events)

    def _moment(self, source: SourceRows, after: int) -> int:
        """Wait until the log holds what the source held, and learn which event that was."""
        give_up = self._clock.monotonic_s() + self._bounds.timeout_s
        while True:
            sequence = source.sequence(self._reader, after)
            if sequence is not None:
                return sequence
            if self._clock.monotonic_s() > give_up:
                raise TransientError(
                    "verify-timeout",
                    f"the log did not reach the source's position in {self._bounds.timeout_s:g} s",
                )
            self._clock.sleep(_POLL_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """A table here and there."""

    name: str
    target: TargetTable | None
    source: Spill
    keyed: bool


def _read(
    source: SourceRows, table: TableId, encoder: Encoder, spill: Spill, progress: Progress
) -> None:
    name, total = str(table), source.estimate(table)
    progress(Step(name, "source", 0, total))
    for image in source.images(table):
        spill.add(encoder.row(image))
        if spill.rows % _TELL_EVERY_ROWS == 0:
            progress(Step(name, "source", spill.rows, total))
    progress(Step(name, "source", spill.rows, spill.rows))
