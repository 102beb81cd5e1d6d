"""Families by numbers alone, and the scratch that large transactions are worked out on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headwater.errors import MachineError
from headwater.event import EventBatch, Operation
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.family.keys import bins_of
from headwater.format.cdcformat.family.roots import find_families
from headwater.format.cdcformat.family.scratch import Bins, Scratch, Workspace
from headwater.format.text import TEXT
from tests.unit.format.cdc_tables import (
    HISTORY,
    ORGANIZATION,
    POST,
    USER,
    History,
    added,
    batch,
    changed,
)

NUMBERS = pa.schema([("n", pa.int64())])
ROWS = 300_000  # more than one span
INSERTS = np.full(ROWS, int(Operation.INSERT), np.int8)


def test_family_is_one_when_rows_are_a_long_chain_in_any_order() -> None:
    """Each row refers to the next, as employees to their chiefs: labels must not walk."""
    order = np.random.default_rng(1).permutation(ROWS)
    found = find_families(INSERTS, lambda: [(order[1:], order[:-1])])
    assert np.unique(found.root).tolist() == [order[-1]]


def test_families_are_the_same_when_pairs_come_in_pieces_and_arrays_are_files() -> None:
    draw = np.random.default_rng(2)
    parent, child = draw.integers(0, ROWS, (2, ROWS // 2))
    ops = draw.integers(1, 4, ROWS).astype(np.int8)
    whole = find_families(ops, lambda: [(parent, child)])
    scratch = Scratch(Workspace(max_bytes=1))
    cuts = [ROWS // 7, ROWS // 3]
    pieces = list(zip(np.split(parent, cuts), np.split(child, cuts), strict=True))
    found = find_families(ops, lambda: reversed(pieces), scratch.array)
    assert isinstance(found.root, np.memmap)
    assert np.array_equal(found.root, whole.root)
    assert np.array_equal(found.gained, whole.gained)


def read(bins: Bins) -> dict[int, list[int]]:
    return {
        number: [n for piece in bins.read(number) for n in piece.column("n").to_pylist()]
        for number in bins.numbers()
    }


@pytest.mark.parametrize("memory", [1, 500, 1 << 20])
def test_bins_give_back_what_they_took_when_memory_is_short(memory: int, tmp_path: Path) -> None:
    scratch = Scratch(Workspace(max_bytes=memory, directory=tmp_path))
    bins, other = scratch.bins(NUMBERS), scratch.bins(NUMBERS)
    for start in range(0, 1_000, 100):
        numbers = np.arange(start, start + 100)
        bins.scatter(numbers % 3, pa.record_batch([numbers], schema=NUMBERS))
        other.put(start % 200, pa.record_batch([numbers], schema=NUMBERS))
    assert read(bins) == {third: list(range(third, 1_000, 3)) for third in range(3)}
    assert sum(map(len, read(other).values())) == 1_000
    assert bins.held_bytes + other.held_bytes <= memory
    assert list(tmp_path.iterdir()) == []  # files have no names
    scratch.close()
    scratch.close()
    assert bins.numbers() == []


def test_scratch_says_so_when_its_directory_takes_no_file(tmp_path: Path) -> None:
    scratch = Scratch(Workspace(max_bytes=1, directory=tmp_path / "gone"))
    with pytest.raises(MachineError) as caught:
        scratch.array(10, np.int64)
    assert (caught.value.code, caught.value.where) == ("scratch-io", str(tmp_path / "gone"))
    with pytest.raises(MachineError):
        scratch.bins(NUMBERS).put(0, pa.record_batch([np.arange(9)], schema=NUMBERS))


def test_keys_spread_over_bins_and_equal_keys_meet() -> None:
    texts = pa.array([f"0,0\n{n}" for n in range(10_000)] * 2, TEXT)
    bins = bins_of(texts.slice(5), 64)
    assert np.array_equal(bins[:5_000], bins[10_000:15_000])
    counts = np.bincount(bins, minlength=64)
    assert counts.max() < 2 * counts.mean()


def test_piece_is_cut_where_much_would_be_told_and_says_the_same() -> None:
    rows = [
        event
        for user in (1, 2, 3)
        for event in (
            added(USER, {"id": user}),
            *(added(POST, {"id": user * 10 + n, "user_id": user}) for n in range(4)),
        )
    ]
    cascade = Cascade(history=HISTORY, workspace=Workspace(max_bytes=1))
    stream = batch(rows)
    telling = cascade.study(lambda: iter([stream]))
    assert telling is not None
    runs = list(telling.cut(stream))
    assert [len(run) for run in runs] == [5, 5, 5]
    expected = cascade(stream)
    assert EventBatch.concat([telling(run) for run in runs]).equals(expected)
    assert telling(stream).equals(expected)
    telling.close()


def test_log_is_not_read_when_no_table_refers_to_another() -> None:
    def never() -> Iterator[EventBatch]:
        pytest.fail("nothing can be related")

    assert Cascade(history=History(ORGANIZATION)).study(never) is None


def test_rows_are_not_looked_at_when_their_tables_are_not_related() -> None:
    torn = changed(POST, None, {"id": 1, "user_id": 2})
    stream = batch([torn] * 3)
    columns = {name: stream.column(name) for name in stream.records.schema.names}
    damaged = EventBatch.from_columns(columns | {"after": "no JSON"})
    asked: list[EventBatch] = []

    def pieces() -> Iterator[EventBatch]:
        asked.append(damaged)
        yield damaged

    assert Cascade(history=HISTORY).study(pieces) is None
    assert len(asked) == 1
