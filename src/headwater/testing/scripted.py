"""Scripted doubles: a source, two sinks and metrics that do exactly what a test wrote down."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headwater.contract import (
    SinkCapabilities,
    SourceBatch,
    SourceCapabilities,
    SourceIdentity,
    WriteStatus,
)
from headwater.errors import DataError, GapError
from headwater.event import EventBatch, Position
from headwater.testing.memory import MemoryLog
from headwater.testing.script import (
    CRASH,
    Change,
    Commit,
    Endless,
    Fail,
    Filtered,
    Idle,
    Script,
    ScriptedCrash,
    Step,
    commit_batch,
    endless_batch,
    gap,
    rows,
)

__all__ = [
    "CRASH",
    "Change",
    "Commit",
    "Endless",
    "Fail",
    "FaultySink",
    "Filtered",
    "Idle",
    "MemoryLog",
    "MemoryMetrics",
    "MemorySink",
    "Script",
    "ScriptedCrash",
    "ScriptedSource",
    "Step",
    "gap",
    "rows",
]

_CAPABILITIES = SourceCapabilities(
    snapshot=True,
    resumable_snapshot=True,
    before_image=True,
    truncate=True,
    schema_changes=True,
    context=True,
    exact_transactions=True,
)


class ScriptedSource:
    """Reads a script. Implements contract.Source.

    `on_end` is called whenever a read finds the script at its end: a test that runs a loop in its
    own thread asks it to drain there.

    Delivery: every commit from the resumed position on, in order, at least once.
    """

    def __init__(
        self,
        script: Script | Sequence[Step],
        *,
        uid: str = "scripted-1",
        capabilities: SourceCapabilities = _CAPABILITIES,
    ) -> None:
        self.script = script if isinstance(script, Script) else Script(script)
        self._uid = uid
        self._capabilities = capabilities
        self._step = 0
        self._inside = 0
        self._open = False
        self.on_end: Callable[[], None] | None = None
        self.confirmed: list[Position] = []
        self.opened: list[Position | None] = []

    @property
    def identity(self) -> SourceIdentity:
        """The scripted database."""
        return SourceIdentity("scripted", self._uid)

    @property
    def capabilities(self) -> SourceCapabilities:
        """What the script can express."""
        return self._capabilities

    def open(self, resume: Position | None) -> None:
        """Stand at a step."""
        step = 0 if resume is None else int(str(resume.token["step"]))
        if step < self.script.forgotten:
            raise GapError("source-gap", f"steps {step} to {self.script.forgotten} were forgotten")
        self._step, self._inside, self._open = step, 0, True
        self.opened.append(resume)

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The next step, in pieces of at most `max_events`; waits a moment where there is none."""
        if not self._open:
            raise RuntimeError("the source is not open")
        while isinstance(step := self.script.at(self._step), Fail | Idle):
            if not self._meets(step.reads if isinstance(step, Idle) else 1):
                continue
            if isinstance(step, Fail):
                self._open = False
                raise step.error
            return None
        match step:
            case None:
                if self.on_end is not None:
                    self.on_end()
                time.sleep(min(timeout_s, 0.002))
                return None
            case Filtered():
                self._step += 1
                return SourceBatch(EventBatch.concat([]), self._position())
            case Endless():
                return self._endless(min(step.piece, max_events))
            case Commit():
                return self._commit(step, max_events)

    def _meets(self, times: int = 1) -> bool:
        if self.script.meet(self._step, times):
            return True
        self._step += 1
        return False

    def _endless(self, count: int) -> SourceBatch:
        batch = endless_batch(self._step, self._inside, count, self._uid)
        self._inside += count
        return SourceBatch(batch, self._position())

    def _commit(self, commit: Commit, max_events: int) -> SourceBatch:
        batch = commit_batch(commit, self._step, self._inside, max_events, self._uid)
        if batch.closes_transaction:
            self._step, self._inside = self._step + 1, 0
        else:
            self._inside += len(batch)
        return SourceBatch(batch, self._position(), commit.schemas, commit.phase)

    def _position(self) -> Position:
        return Position({"step": self._step})

    def confirm(self, position: Position) -> None:
        """Remember what was confirmed, in order."""
        self.confirmed.append(position)

    def close(self) -> None:
        """Nothing to release; reading needs `open` again."""
        self._open = False


class MemorySink:
    """Keeps batches in memory. What is accepted becomes durable at `flush`, or at once.

    Delivery: at least once; a crash (`lose_accepted`) loses what was not flushed.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._at_once = durable
        self._accepted: list[EventBatch] = []
        self.durable: list[EventBatch] = []
        self.opens = 0

    @property
    def capabilities(self) -> SinkCapabilities:
        """In order; a repeated write is kept twice."""
        return SinkCapabilities(idempotent=False, ordered=True)

    def open(self) -> None:
        """Start without what was never flushed."""
        self.opens += 1
        self._accepted.clear()

    def write(self, batch: EventBatch) -> WriteStatus:
        """Keep the batch."""
        if self._at_once:
            self.durable.append(batch)
            return WriteStatus.DURABLE
        self._accepted.append(batch)
        return WriteStatus.ACCEPTED

    def flush(self) -> None:
        """Make everything accepted durable."""
        self.durable += self._accepted
        self._accepted.clear()

    def close(self) -> None:
        """Lose what was not flushed, as a dropped connection would."""
        self._accepted.clear()

    def sequences(self) -> list[int]:
        """The sequence numbers that are durable, in the order of writing."""
        return [
            int(number)
            for batch in self.durable
            for number in batch.column("sequence_number").to_pylist()
        ]


class FaultySink(MemorySink):
    """A MemorySink whose calls fail as scripted: one entry per call, None lets it succeed.

    `poison` names sequence numbers that can never be written: they raise DataError.
    """

    def __init__(
        self,
        *,
        writes: Sequence[BaseException | None] = (),
        flushes: Sequence[BaseException | None] = (),
        poison: frozenset[int] = frozenset(),
        durable: bool = False,
    ) -> None:
        super().__init__(durable=durable)
        self._writes = list(writes)
        self._flushes = list(flushes)
        self._poison = poison

    def write(self, batch: EventBatch) -> WriteStatus:
        """Fail as scripted, or keep the batch."""
        _next_fault(self._writes)
        bad = self._poison.intersection(batch.column("sequence_number").to_pylist())
        if bad:
            raise DataError("event-invalid", f"scripted poison at {min(bad)}")
        return super().write(batch)

    def flush(self) -> None:
        """Fail as scripted, or make everything durable."""
        _next_fault(self._flushes)
        super().flush()


def _next_fault(script: list[BaseException | None]) -> None:
    fault = script.pop(0) if script else None
    if fault is not None:
        raise fault


class MemoryMetrics:
    """Metrics that a test can read back by name, labels summed."""

    def __init__(self, on_count: Callable[[str, float], None] | None = None) -> None:
        self.counters: dict[str, float] = {}
        self.gauges: dict[str, float] = {}
        self.observations: dict[str, list[float]] = {}
        self._on_count = on_count

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        del labels
        self.counters[name] = self.counters.get(name, 0) + amount
        if self._on_count is not None:
            self._on_count(name, amount)

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        del labels
        self.gauges[name] = value

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Keep an observation."""
        del labels
        self.observations.setdefault(name, []).append(value)
