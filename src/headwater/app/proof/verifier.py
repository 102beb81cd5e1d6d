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
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import MAX_KEYS, Comparison, Differences, compare
from headwater.app.proof.roll import Moves, Without
from headwater.app.proof.spill import Spill
from headwater.contract import Clock, LogReader
from headwater.errors import TransientError
from headwater.event import TableSchema
from headwater.event.verbatim import Image

_POLL_S = 0.05
_SIDES = ("before", "after")
_TELL_EVERY_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A target table that stands as every event up to `sequence` has left it, or is wrong."""

    sequence: int
    rows: Without


class Target(Protocol):
    """The tables that follow the log."""

    def table(self, schema: TableSchema) -> TargetTable | None:
        """A table as it is now, or None if the target does not have it."""
        ...


class SourceRows(Protocol):
    """The source at one position, within one read transaction."""

    def images(self, table: str) -> Iterator[Image]:
        """The rows of a table as row images; `schema.table` where there are schemas."""
        ...

    def estimate(self, table: str) -> int | None:
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
class Proof:
    """Every table's comparison, at one event of the log."""

    sequence: int
    tables: tuple[TableProof, ...]

    @property
    def equal(self) -> bool:
        """Whether every table is equal."""
        return all(table.equal for table in self.tables)


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
                for name, encoder in encoders.items():
                    spill = sources[name] = spills.enter_context(Spill(encoder))
                    _read(source, name, encoder, spill, progress)
            moment = self._moment(source, min(reached.values(), default=tail))
            moves = self._moves(encoders, reached, moment)
            proofs = []
            for name, found in targets.items():
                progress(Step(name, "target", 0, sources[name].rows))
                compared = compare(
                    moves[name].over(None if found is None else found.rows),
                    sources[name],
                    keyed=bool(encoders[name].key),
                    max_keys=self._bounds.max_keys,
                )
                progress(Step(name, "target", compared.target.rows, compared.target.rows))
                proofs.append(TableProof(name, compared, moves[name].events))
        return Proof(moment, tuple(proofs))

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

    def _moves(
        self, encoders: dict[str, Encoder], reached: dict[str, int], moment: int
    ) -> dict[str, Moves]:
        moves = {name: Moves(encoder) for name, encoder in encoders.items()}
        behind = min(reached.values(), default=moment)
        if behind < moment:
            for batch in self._reader.read(behind, moment):
                images = zip(*(batch.column(side).to_pylist() for side in _SIDES), strict=True)
                for event, (before, after) in zip(batch, images, strict=True):
                    name = str(event.table_id)
                    if name in reached and event.sequence_number > reached[name]:
                        row = encoders[name].row
                        moves[name].apply(
                            replace(
                                event, before=before and row(before), after=after and row(after)
                            )
                        )
        return moves


def _read(
    source: SourceRows, name: str, encoder: Encoder, spill: Spill, progress: Progress
) -> None:
    total = source.estimate(name)
    progress(Step(name, "source", 0, total))
    for image in source.images(name):
        spill.add(encoder.row(image))
        if spill.rows % _TELL_EVERY_ROWS == 0:
            progress(Step(name, "source", spill.rows, total))
    progress(Step(name, "source", spill.rows, spill.rows))
