"""Both sides of every table at one event of the log, exact while writers go on.

The target's tables are fixed first, each at the sequence S up to which it must have everything.
Then the source is read together with its own position in one transaction. The log tells which event
W that position is, and the events in (S, W] are laid over the target. Both sides then stand at the
same moment, however many changes were committed meanwhile.

Nothing is laid over a table that is not there: with the events of the whole log it would always
equal the source, and the log would be proven instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Protocol

from headwater.app.proof.between import Between
from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import MAX_KEYS, Comparison, Differences, compare
from headwater.app.proof.roll import Moves
from headwater.app.proof.shapes import Shapes
from headwater.app.proof.spill import Spill
from headwater.app.proof.target import Target, TargetTable
from headwater.contract import Clock, LogReader
from headwater.errors import DataError, HeadwaterError, MachineError, TransientError
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
        """The proof for these tables. One that cannot be compared leaves the others alone."""
        encoders = {str(schema.table): Encoder(schema) for schema in schemas}
        reasons: dict[str, HeadwaterError] = {}
        targets = self._targets(schemas, reasons)
        proofs: list[TableProof] = []
        # What a table lacks of events that the log holds no more is a difference, too.
        bounds, reached = self._reader.bounds(), dict[str, int]()
        tail, moment = bounds.tail - 1, bounds.head
        with ExitStack() as spills:
            sources = {name: spills.enter_context(Spill(encoders[name])) for name in targets}
            if targets:
                with open_source() as source:
                    for schema in schemas:
                        if (spill := sources.get(name := str(schema.table))) is not None:
                            unread = _read(source, schema.table, encoders[name], spill, progress)
                            reasons |= {name: unread} if unread else {}
                targets = {name: each for name, each in targets.items() if name not in reasons}
                reached = {name: max(each.sequence, tail) for name, each in targets.items() if each}
            # Where nothing is left to compare no moment is needed: a first load's may be far away.
            if targets:
                moment = self._moment(source, min(reached.values(), default=tail), reasons)
            shapes = Shapes(self._reader, schemas)
            comparable = {name: encoders[name] for name in targets}
            moved = Between(self._reader, comparable, shapes, reached, moment).moved()
            for name, target in targets.items():
                keyed = bool(encoders[name].key)
                sides = _Sides(name=name, target=target, source=sources[name], keyed=keyed)
                match self._compared(sides, moved[name], progress):
                    case TableProof() as proof:
                        proofs.append(proof)
                    case reason:
                        reasons[name] = reason
        undecided = (Undecided(name, reasons[name]) for name in encoders if name in reasons)
        return Proof(moment, tuple(proofs), tuple(undecided))

    def _targets(
        self, schemas: Sequence[TableSchema], reasons: dict[str, HeadwaterError]
    ) -> dict[str, TargetTable | None]:
        targets: dict[str, TargetTable | None] = {}
        for schema in schemas:
            try:
                targets[str(schema.table)] = self._target.table(schema)
            except MachineError:
                raise
            except HeadwaterError as exc:
                reasons[str(schema.table)] = exc
        return targets

    def _compared(
        self, sides: _Sides, moves: Moves | HeadwaterError, progress: Progress
    ) -> TableProof | HeadwaterError:
        if isinstance(moves, HeadwaterError):
            return moves
        progress(Step(sides.name, "target", 0, sides.source.rows))
        try:
            compared = compare(
                moves.over(sides.target),
                sides.source,
                keyed=sides.keyed,
                max_keys=self._bounds.max_keys,
            )
        except DataError as exc:
            return exc
        progress(Step(sides.name, "target", compared.target.rows, compared.target.rows))
        return TableProof(sides.name, compared, moves.events)

    def _moment(self, source: SourceRows, after: int, reasons: Mapping[str, HeadwaterError]) -> int:
        """Wait until the log holds what the source held, and learn which event that was.

        While rows of a first load are still to come, it is the load that one has to wait for.
        """
        give_up = self._clock.monotonic_s() + self._bounds.timeout_s
        while True:
            sequence = source.sequence(self._reader, after)
            if sequence is not None:
                return sequence
            if self._clock.monotonic_s() > give_up:
                for reason in reasons.values():
                    if reason.code == "spark-table-loading":
                        raise reason
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
) -> DataError | None:
    """Read a table's rows; why not, if one of them cannot be read as one of the table."""
    name, total = str(table), source.estimate(table)
    progress(Step(name, "source", 0, total))
    for image in source.images(table):
        try:
            spill.add(encoder.row(image))
        except DataError as exc:
            return exc
        if spill.rows % _TELL_EVERY_ROWS == 0:
            progress(Step(name, "source", spill.rows, total))
    progress(Step(name, "source", spill.rows, spill.rows))
    return None
