"""The comparison of a target with its source, with SQLite-like rows on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.app.digest import BagDigest, KeyedDigest, row_hash
from headwater.app.verify import Proof, TableRows, Verifier
from headwater.contract import LogReader
from headwater.errors import DataError, TransientError
from headwater.event import Event, EventBatch, Operation, Origin, TableId, TableSchema
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, ITEMS, TS_MS, source_batch
from headwater.testing.clock import FakeClock

NOTES = TableSchema(TableId(None, "notes"), (), ())


def event(op: Operation, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Event:
    return Event(
        op=op,
        source=Origin("scripted", "change:1", TS_MS),
        ts_ms=TS_MS,
        table="items",
        primary_key=("id",),
        before=before,
        after=after,
        schema_id=ITEMS.schema_id,
    )


class Target:
    """A target whose tables stand at one sequence."""

    def __init__(self, sequence: int, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def table(self, schema: TableSchema) -> TableRows | None:
        rows = self._tables.get(schema.table.name)
        return None if rows is None else TableRows(self._sequence, iter(rows))


class SourceAt:
    """A source at a position that the log holds as event `sequence`, or does not hold yet."""

    def __init__(self, sequence: int | None, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        return iter(self._tables[table])

    def sequence(self, reader: LogReader, after: int) -> int | None:
        assert after <= reader.bounds().head
        return self._sequence


def verify(
    log: SqliteLog, target: Target, source: SourceAt, schemas: tuple[TableSchema, ...] = (ITEMS,)
) -> Proof:
    @contextmanager
    def opened() -> Iterator[SourceAt]:
        yield source

    reader = log.reader()
    try:
        return Verifier(reader, target, clock=FakeClock(), timeout_s=1).verify(schemas, opened)
    finally:
        reader.close()


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog.create(tmp_path / "items.hwlog")
    events = [
        event(Operation.INSERT, None, {"id": 1, "name": "a"}),
        event(Operation.INSERT, None, {"id": 2, "name": "b"}),
        event(Operation.UPDATE, {"id": 1, "name": "a"}, {"id": 1, "name": "A"}),
        event(Operation.UPDATE, {"id": 2, "name": "b"}, {"id": 3, "name": "b"}),
        event(Operation.DELETE, {"id": 1, "name": "A"}, None),
    ]
    writer = log.writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events(events), 5))
    writer.close()
    return log


STATES: list[list[dict[str, Any]]] = [
    [],
    [{"id": 1, "name": "a"}],
    [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    [{"id": 1, "name": "A"}, {"id": 2, "name": "b"}],
    [{"id": 1, "name": "A"}, {"id": 3, "name": "b"}],
    [{"id": 3, "name": "b"}],
]


@pytest.mark.parametrize(
    ("applied", "moment"),
    [(applied, moment) for moment in range(6) for applied in range(moment + 1)],
)
def test_verify_is_equal_when_the_target_stands_anywhere_behind(
    log: SqliteLog, applied: int, moment: int
) -> None:
    proof = verify(
        log,
        Target(applied, {"items": STATES[applied]}),
        SourceAt(moment, {"items": STATES[moment]}),
    )
    assert proof.equal
    assert proof.sequence == moment
    assert proof.tables[0].rolled_forward == moment - applied
    assert proof.tables[0].target_count == len(STATES[moment])


def test_verify_names_the_keys_when_rows_differ(log: SqliteLog) -> None:
    target = Target(5, {"items": [{"id": 3, "name": "B"}, {"id": 9, "name": "x"}]})
    source = SourceAt(5, {"items": [{"id": 3, "name": "b"}, {"id": 4, "name": "y"}]})
    proof = verify(log, target, source)
    assert not proof.equal
    shown = proof.tables[0].as_dict()
    assert shown["missing"] == [{"id": 4}]
    assert shown["extra"] == [{"id": 9}]
    assert shown["different"] == [{"id": 3}]
    assert shown["source"]["hash"] != shown["target"]["hash"]


def test_verify_finds_everything_missing_when_the_target_has_no_table(log: SqliteLog) -> None:
    proof = verify(log, Target(0, {}), SourceAt(0, {"items": STATES[2]}))
    assert [len(table.differences.missing) for table in proof.tables] == [2]


def test_verify_gives_up_when_the_log_never_holds_the_position(log: SqliteLog) -> None:
    with pytest.raises(TransientError) as caught:
        verify(log, Target(5, {"items": []}), SourceAt(None, {"items": []}))
    assert caught.value.code == "verify-timeout"


def test_verify_counts_equal_rows_when_a_table_has_no_key(log: SqliteLog) -> None:
    twice = [{"text": "x"}, {"text": "x"}]
    same = verify(log, Target(5, {"notes": twice}), SourceAt(5, {"notes": twice}), (NOTES,))
    assert same.equal
    once = verify(log, Target(5, {"notes": twice[:1]}), SourceAt(5, {"notes": twice}), (NOTES,))
    assert not once.equal
    assert len(once.tables[0].differences.missing) == 1


def test_digest_refuses_when_an_event_has_no_whole_row() -> None:
    partial = Event(
        op=Operation.UPDATE,
        source=Origin("s", "1", 0),
        ts_ms=0,
        table="items",
        primary_key=("id",),
        after={"id": 1},
        unavailable_columns=("name",),
    )
    for digest in (KeyedDigest(("id",)), BagDigest()):
        with pytest.raises(DataError) as caught:
            digest.apply(partial)
        assert caught.value.code == "verify-undecidable"


@pytest.mark.parametrize("op", [Operation.SCHEMA_CHANGE, Operation.MESSAGE])
def test_digest_stays_when_an_event_is_about_no_row(op: Operation) -> None:
    for digest in (KeyedDigest(("id",)), BagDigest()):
        digest.fill([{"id": 1}]).apply(event(op, None, {"prefix": "p", "content": ""}))
        assert digest.count == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": "x"}, {"b": "x"}),
    ],
)
def test_row_hash_differs_when_type_or_name_differs(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    assert row_hash(left) != row_hash(right)


def test_row_hash_is_equal_when_only_order_or_nulls_differ() -> None:
    assert row_hash({"a": 1, "b": None, "c": "é"}) == row_hash({"c": "é", "a": 1})
