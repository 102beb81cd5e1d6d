"""Narrowing finds exactly the keys that differ, and looks only where something does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import Comparison, _verdicts, compare
from headwater.app.proof.ranges import Entry, MemorySide, Summary
from headwater.app.proof.spill import Spill
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from tests.held import entry_of

TABLE = TableSchema(
    TableId(None, "t"),
    (
        Column("id", LogicalType(Kind.INT64), nullable=False),
        Column("v", LogicalType(Kind.INT64), nullable=True),
    ),
    ("id",),
)
ENCODER = Encoder(TABLE)
Table = dict[int, int]
tables = st.dictionaries(st.integers(0, 400), st.integers(0, 3), max_size=200)


def memory(rows: Table) -> MemorySide:
    return MemorySide(entry_of(ENCODER, {"id": key, "v": value}) for key, value in rows.items())


class Watched(MemorySide):
    """A side that remembers which ranges it was asked for."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__(entries)
        self.rows_read = 0
        self.looks = 0

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        self.looks += 1
        return super().summaries(digits, within)

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        for entry in super().entries(ranges):
            self.rows_read += 1
            yield entry


def keys(numbers: Collection[int]) -> tuple[str, ...]:
    return tuple(sorted(f'{{"id":{number}}}' for number in numbers))


def assert_exact(found: Comparison, target: Table, source: Table) -> None:
    both = target.keys() & source.keys()
    assert found.differences.missing == keys(source.keys() - target.keys())
    assert found.differences.extra == keys(target.keys() - source.keys())
    assert found.differences.different == keys([k for k in both if target[k] != source[k]])
    assert found.equal == (target == source)
    assert (found.target.rows, found.source.rows) == (len(target), len(source))


@given(target=tables, source=tables, rows_per_range=st.sampled_from([1, 4, 256]))
def test_compare_finds_exactly_the_differing_keys_for_any_two_tables(
    target: Table, source: Table, rows_per_range: int
) -> None:
    with Spill(ENCODER, held_rows=7) as spill:
        for key, value in source.items():
            spill.add({"id": key, "v": value})
        for side in (spill, memory(source)):
            found = compare(memory(target), side, rows_per_range=rows_per_range)
            assert_exact(found, target, source)


MANY = {key: entry_of(ENCODER, {"id": key, "v": 1}) for key in range(8_000)}
SOURCE = MemorySide(MANY.values())


@settings(max_examples=8)
@given(wrong=st.sets(st.sampled_from(range(8_000)), max_size=5))
def test_compare_looks_at_few_ranges_when_few_keys_differ(wrong: set[int]) -> None:
    changed = {key: entry_of(ENCODER, {"id": key, "v": 2}) for key in wrong}
    target = Watched({**MANY, **changed}.values())
    found = compare(target, SOURCE, rows_per_range=8)
    assert found.differences.different == keys(wrong)
    # 256 ranges of about 31 rows; each that differs is split by one digit, rarely by two.
    assert found.ranges <= 256 + 2 * 16 * len(wrong)
    assert target.looks <= 1 + 2 * bool(wrong)
    assert target.rows_read <= 8 * len(wrong)


def test_compare_stops_when_more_keys_differ_than_are_wanted() -> None:
    source, target = dict.fromkeys(range(3_000), 1), dict.fromkeys(range(3_000), 2)
    found = compare(memory(target), memory(source), max_keys=50)
    assert len(found.differences) == 50
    assert not found.differences.complete
    assert not found.equal


def test_compare_finds_the_key_when_the_target_has_it_twice() -> None:
    row = entry_of(ENCODER, {"id": 1, "v": 1})
    found = compare(MemorySide([row, row]), MemorySide([row]))
    assert found.differences.different == keys([1])


def test_compare_counts_rows_when_they_have_no_key() -> None:
    bag = Encoder(TableSchema(TableId(None, "bag"), TABLE.columns, ()))
    rows = [{"id": 1, "v": 1}] * 600 + [{"id": 2, "v": 2}]
    with Spill(bag, held_rows=100) as spill:
        for row in rows:
            spill.add(row)
        same = MemorySide(entry_of(bag, row) for row in rows)
        assert compare(same, spill, keyed=False).equal
        fewer = MemorySide(entry_of(bag, row) for row in rows[2:])
        found = compare(fewer, spill, keyed=False)
    assert found.differences.missing == (f"row:{bag.hash(rows[0]).hex()}",) * 2


def test_key_is_told_as_the_source_spells_it_when_a_table_keeps_it_as_text() -> None:
    """Rows are looked for at the source by it: a text would find no integer there."""
    target, source = ('{"id":"5"}', {"a": 1}), ('{"id":5}', {"b": 1})
    assert _verdicts(target, source, keyed=True) == [("different", '{"id":5}')]
    assert _verdicts(target, None, keyed=True) == [("extra", '{"id":"5"}')]
