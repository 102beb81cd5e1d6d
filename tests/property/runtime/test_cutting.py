from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.event import EventBatch
from headwater.runtime.cutting import cut
from headwater.testing.builders import inserts


def _stored(sizes: list[tuple[int, int]]) -> list[EventBatch]:
    """Batches of transactions: each entry is a transaction's size and how many batches hold it."""
    batches, first = [], 1
    for tx_id, (size, pieces) in enumerate(sizes, start=1):
        cuts = [size * index // pieces for index in range(pieces + 1)]
        for start, stop in pairwise(cuts):
            if start == stop:
                continue
            piece = inserts(
                first + start,
                stop - start,
                tx_id=tx_id,
                first_index=start,
                closes_transaction=stop == size,
            )
            batches.append(piece.with_sequence(first + start))
        first += size
    return batches


_SIZES = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3)), min_size=1, max_size=8)


@given(sizes=_SIZES, max_events=st.integers(1, 15), max_bytes=st.integers(1, 4000))
def test_cut_keeps_every_event_and_border_when_sizes_are_limited(
    sizes: list[tuple[int, int]], max_events: int, max_bytes: int
) -> None:
    stored = _stored(sizes)
    parts = list(cut(stored, max_events, max_bytes))
    assert EventBatch.concat(parts).equals(EventBatch.concat(stored))
    assert all(len(part) <= max_events for part in parts)
    assert all(len(part) == 1 or part.records.nbytes <= max_bytes * 1.01 + 64 for part in parts)
    borders = [int(number) for part in parts for number in part.borders()]
    assert borders == [sum(size for size, _ in sizes[: n + 1]) for n in range(len(sizes))]


def test_cut_ends_at_a_border_when_a_whole_transaction_fits() -> None:
    stored = EventBatch.concat(_stored([(4, 1), (4, 1), (4, 1)]))
    assert [len(part) for part in cut([stored], 10, 1 << 20)] == [8, 4]


def test_cut_joins_small_batches_when_they_fit_together() -> None:
    assert [len(part) for part in cut(_stored([(1, 1)] * 25), 10, 1 << 20)] == [10, 10, 5]
