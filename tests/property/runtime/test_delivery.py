"""INV-1, INV-3: at least once, in order, and nothing acknowledged that was not durable."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.deliver import RetryPolicy
from headwater.errors import TransientError
from headwater.runtime.delivery import DeliveryLoop, DeliveryPolicy
from headwater.runtime.subscription import Subscription, SubscriptionPolicy
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryCursor
from headwater.testing.script import ScriptedCrash
from headwater.testing.scripted import FaultySink, MemoryLog, MemoryMetrics

_FAULT = st.sampled_from(
    [None, None, TransientError("log-busy", "scripted"), ScriptedCrash("scripted")]
)


class _WatchedCursor(MemoryCursor):
    """Asserts at every step that what is acknowledged stands in the sink."""

    sink: FaultySink

    def ack(self, sequence: int) -> None:
        assert set(range(1, sequence + 1)) <= set(self.sink.sequences())
        super().ack(sequence)


@settings(max_examples=120, deadline=None)
@given(
    transactions=st.lists(st.integers(1, 6), min_size=1, max_size=8),
    writes=st.lists(_FAULT, max_size=10),
    flushes=st.lists(_FAULT, max_size=6),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 12)),
    durable=st.booleans(),
)
def test_sink_gets_everything_in_order_when_writes_flushes_and_processes_fail(
    transactions: list[int],
    writes: list[BaseException | None],
    flushes: list[BaseException | None],
    sizes: tuple[int, int],
    durable: bool,
) -> None:
    log = _log(transactions)
    sink = FaultySink(writes=writes, flushes=flushes, durable=durable)
    log.cursor("c")
    for _process in range(len(writes) + len(flushes) + 1):
        if _run(log, sink, sizes):
            break
    written = sink.sequences()
    total = sum(transactions)
    assert log.cursors["c"] == total
    assert list(dict.fromkeys(written)) == list(range(1, total + 1))
    # In order up to redelivery: a step forward is by one, a step back begins what comes again.
    assert all(later <= earlier + 1 for earlier, later in pairwise(written))


def _run(log: MemoryLog, sink: FaultySink, sizes: tuple[int, int]) -> bool:
    """One process; True when it came to its end."""
    max_events, max_pending = sizes
    clock = FakeClock()
    cursor = _WatchedCursor(log, "c")
    cursor.sink = sink
    subscription = Subscription(
        log.reader(), cursor, clock=clock, policy=SubscriptionPolicy(max_events=max_events)
    )
    policy = DeliveryPolicy(max_pending_events=max_pending, retry=RetryPolicy(base_s=0.01))
    loop = DeliveryLoop(subscription, sink, clock=clock, metrics=MemoryMetrics(), policy=policy)
    loop.drain()
    try:
        loop.run()
    except ScriptedCrash:
        return False
    return True


def _log(transactions: list[int]) -> MemoryLog:
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    first = 1
    for size in transactions:
        writer.append(source_batch(inserts(first, size, tx_id=first), first + size - 1))
        first += size
    writer.close()
    return log
