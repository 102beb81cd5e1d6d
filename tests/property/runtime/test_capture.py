"""INV-2, INV-3, INV-6: whatever fails, the log holds each change once, in commit order."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.contract import SourceBatch, SourceIdentity
from headwater.deliver import RetryPolicy
from headwater.errors import TransientError
from headwater.event import Position
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryLogWriter
from headwater.testing.script import (
    CRASH,
    Commit,
    Fail,
    Filtered,
    Idle,
    Script,
    ScriptedCrash,
    Step,
    rows,
)
from headwater.testing.scripted import MemoryLog, MemoryMetrics, ScriptedSource


def _busy() -> TransientError:
    return TransientError("log-busy", "scripted")


class _FlakyWriter(MemoryLogWriter):
    """Fails before or after the append took effect: the caller cannot tell which."""

    faults: Iterator[str]

    def append(self, batch: SourceBatch) -> int:
        fault = next(self.faults, "none")
        if fault == "before":
            raise _busy()
        head = super().append(batch)
        if fault == "after":
            raise _busy()
        return head


class _FlakyLog(MemoryLog):
    def __init__(self, faults: list[str]) -> None:
        super().__init__()
        self._faults = iter(faults)

    def writer(self, source: SourceIdentity) -> MemoryLogWriter:
        taken = super().writer(source)
        writer = _FlakyWriter(self, self.epoch)
        writer.faults = self._faults
        del taken
        return writer


class _FlakySource(ScriptedSource):
    """Fails to confirm; never may a position be confirmed that the log does not hold."""

    def __init__(self, script: Script, log: MemoryLog, faults: Iterator[bool]) -> None:
        super().__init__(script)
        self._memory = log
        self._faults = faults

    def confirm(self, position: Position) -> None:
        durable = self._memory.position
        assert durable is not None
        assert int(str(position.token["step"])) <= int(str(durable.token["step"]))
        if next(self._faults, False):
            raise TransientError("source-busy", "scripted")
        super().confirm(position)


def _steps() -> st.SearchStrategy[list[Step]]:
    sizes = st.integers(1, 7).map(lambda size: rows(*range(size)))
    faults: st.SearchStrategy[Step] = st.sampled_from(
        [Fail(TransientError("source-busy", "scripted")), CRASH, Idle(), Idle(2), Filtered()]
    )
    return st.lists(sizes | faults, max_size=14)


@settings(max_examples=150, deadline=None)
@given(
    steps=_steps(),
    max_events=st.integers(1, 5),
    appends=st.lists(st.sampled_from(["none", "none", "before", "after"]), max_size=12),
    confirms=st.lists(st.booleans(), max_size=6),
)
def test_log_holds_each_change_once_in_order_when_anything_fails(
    steps: list[Step], max_events: int, appends: list[str], confirms: list[bool]
) -> None:
    script = Script(_numbered(steps))
    log = _FlakyLog(appends)
    confirm_faults = iter(confirms)
    for _process in range(len(steps) + 2):
        source = _FlakySource(script, log, confirm_faults)
        policy = CapturePolicy(max_events=max_events, retry=RetryPolicy(base_s=0.01))
        loop = CaptureLoop(source, log, clock=FakeClock(), metrics=MemoryMetrics(), policy=policy)
        source.on_end = loop.drain
        try:
            loop.run()
        except ScriptedCrash:
            log.crash()
        else:
            break
    kept = [(event.after or {})["id"] for event in log.events()]
    assert kept == [change.key for change in script.changes()]
    assert log.events().column("sequence_number").to_pylist() == list(range(1, len(kept) + 1))
    assert log.events().borders().tolist() == _borders(script)


def _numbered(steps: list[Step]) -> list[Step]:
    """Give every change its own key, so that a loss and a repeat are told apart."""
    numbered: list[Step] = []
    key = 0
    for step in steps:
        if isinstance(step, Commit):
            size = len(step.changes)
            numbered.append(rows(*range(key, key + size)))
            key += size
        else:
            numbered.append(step)
    return numbered


def _borders(script: Script) -> list[int]:
    borders, last = [], 0
    for commit in script.commits():
        last += len(commit.changes)
        borders.append(last)
    return borders
