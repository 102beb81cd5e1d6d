"""Scripts: what a scripted database committed, and which faults its source meets on the way.

A script is a list of steps. Data steps are history: they stay, and a source that resumes reads them
again. Fault steps happen once, whichever source object meets them, as a broken network would.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.contract import Phase
from headwater.errors import GapError, TransientError
from headwater.event import EventBatch, Operation, TableSchema, encode_row, event_ids


class ScriptedCrash(Exception):  # noqa: N818 - it stands for the end of a process, not for an error
    """The process ends here, as far as the test is concerned."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row change: an insert unless `op` says otherwise."""

    key: int
    value: str | None = ""
    op: Operation = Operation.INSERT
    table: str = "items"


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction. A source whose reads are smaller hands it out in pieces."""

    changes: tuple[Change, ...]
    phase: Phase = Phase.STREAM
    schemas: tuple[TableSchema, ...] = ()
    context: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """Something was committed that the source leaves out: only the position moves."""


@dataclass(frozen=True, slots=True)
class Endless:
    """One transaction that never commits: every read gives a piece of this many events."""

    piece: int = 10


@dataclass(frozen=True, slots=True)
class Fail:
    """One read that raises; the source can be opened again afterwards."""

    error: BaseException = field(
        default_factory=lambda: TransientError("source-busy", "scripted failure")
    )


@dataclass(frozen=True, slots=True)
class Idle:
    """This many reads that find nothing."""

    reads: int = 1


CRASH = Fail(ScriptedCrash("scripted crash"))


def gap() -> Fail:
    """A fault after which changes are missing at the source (INV-9)."""
    return Fail(GapError("source-gap", "scripted gap"))


def rows(*keys: int, phase: Phase = Phase.STREAM) -> Commit:
    """A transaction that inserts these keys (a snapshot chunk, in that phase)."""
    op = Operation.READ if phase is Phase.SNAPSHOT else Operation.INSERT
    return Commit(tuple(Change(key, f"v{key}", op) for key in keys), phase)


Step = Commit | Filtered | Endless | Fail | Idle


class Script:
    """The steps, shared by every source opened on them; a test may add steps while one reads."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = list(steps)
        self._met: dict[int, int] = {}
        self._lock = threading.Lock()
        self.forgotten = 0

    def add(self, *steps: Step) -> None:
        """Commit more."""
        with self._lock:
            self._steps.extend(steps)

    @property
    def length(self) -> int:
        """How many steps there are."""
        with self._lock:
            return len(self._steps)

    def at(self, index: int) -> Step | None:
        """The step of that number, or None at the end."""
        with self._lock:
            return self._steps[index] if index < len(self._steps) else None

    def meet(self, index: int, times: int = 1) -> bool:
        """Whether a fault still happens; counts the meeting."""
        with self._lock:
            met = self._met.get(index, 0)
            self._met[index] = met + 1
            return met < times

    def forget(self, before: int) -> None:
        """Lose the history before a step, as a purged log does."""
        self.forgotten = before

    def commits(self) -> list[Commit]:
        """Every transaction, in order: the oracle of what a log must hold."""
        with self._lock:
            return [step for step in self._steps if isinstance(step, Commit)]

    def changes(self) -> list[Change]:
        """Every change, in commit order."""
        return [change for commit in self.commits() for change in commit.changes]


def commit_batch(commit: Commit, step: int, start: int, count: int, uid: str) -> EventBatch:
    """Events `start` … of a transaction, as a source gives them."""
    part = commit.changes[start : start + count]
    total = len(commit.changes)
    return _batch(part, (step, start, total), uid, commit)


def endless_batch(step: int, start: int, count: int, uid: str) -> EventBatch:
    """The next piece of a transaction without an end."""
    part = tuple(Change(start + index, "more") for index in range(count))
    batch = _batch(part, (step, start, None), uid, Commit(part))
    return EventBatch(batch.records, closes_transaction=False)


def _batch(
    part: Sequence[Change], place: tuple[int, int, int | None], uid: str, commit: Commit
) -> EventBatch:
    step, start, total = place
    offsets = [f"{step}:{start + index}" for index in range(len(part))]
    inserts = {Operation.INSERT, Operation.READ, Operation.UPDATE}
    columns: dict[str, Any] = {
        "event_id": event_ids(uid, offsets),
        "op": [int(change.op) for change in part],
        "source_name": "scripted",
        "offset": offsets,
        "source_ts_ms": 1_700_000_000_000 + step,
        "ts_ms": 1_700_000_000_000 + step,
        "table_name": [change.table for change in part],
        "primary_key": [["id"]] * len(part),
        "before": [_image(change) if change.op not in inserts else None for change in part],
        "after": [_image(change) if change.op in inserts else None for change in part],
        "transaction": [
            {"tx_id": step + 1, "total_events": total, "event_index": start + index}
            for index in range(len(part))
        ],
        "schema_id": [_schema_id(commit, change) for change in part],
        "context": None if commit.context is None else encode_row(commit.context),
    }
    closes = total is not None and start + len(part) >= total
    return EventBatch.from_columns(columns, closes_transaction=closes)


def _image(change: Change) -> str | None:
    if change.op is Operation.TRUNCATE:
        return None
    return encode_row({"id": change.key, "value": change.value})


def _schema_id(commit: Commit, change: Change) -> int:
    return next((s.schema_id for s in commit.schemas if s.table.name == change.table), 0)
