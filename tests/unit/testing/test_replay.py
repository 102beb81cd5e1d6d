"""Replay: our recordings give their golden files, and faults of a recording are told by place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater import formats
from headwater.errors import ConfigError
from headwater.event import validate
from headwater.testing.replay import (
    differences,
    envelopes,
    load_fixture,
    parse_fixture,
    prove,
    replay,
)
from headwater.testing.replay.dialects import PROTOCOLS

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "replay").glob("*.fixture.json"))
CUT_SHORT = {f"{source}_cut_short" for source in PROTOCOLS}
Document = dict[str, Any]


def name(path: Path) -> str:
    return path.name.removesuffix(".fixture.json")


def document(source: str = "postgres", *messages: tuple[str, Any]) -> Document:
    return {
        "metadata": {
            "id": "x",
            "source_type": source,
            "protocol_version": PROTOCOLS[source],
            "fixture_version": 1,
            "message_count": len(messages),
        },
        "messages": [
            {"seq": seq, "message_type": kind, "payload": json.dumps(payload)}
            for seq, (kind, payload) in enumerate(messages)
        ],
    }


def replayed(source: str, *messages: tuple[str, Any]) -> list[dict[str, Any]]:
    fixture = parse_fixture(json.dumps(document(source, *messages)))
    return envelopes(replay(fixture).events)


INSERT = {"schema": "public", "table": "t", "after": {"id": 1}, "primary_key": ["id"]}
SAMPLE = document("postgres", ("Begin", {}), ("Insert", INSERT), ("Commit", {}))


def test_fixtures_are_there_for_every_source() -> None:
    sources = {load_fixture(path).source_type for path in FIXTURES}
    assert sources == set(PROTOCOLS)
    assert {name(path) for path in FIXTURES} > CUT_SHORT


@pytest.mark.parametrize("path", FIXTURES, ids=name)
def test_replay_gives_the_golden_file_when_the_recording_is_ours(path: Path) -> None:
    facts = prove(path)
    assert facts["golden"] is not None
    assert facts["differences"] == []
    assert bool(facts["unfinished"]) == (name(path) in CUT_SHORT)


@pytest.mark.parametrize("path", FIXTURES, ids=name)
def test_events_of_a_replay_are_valid_and_as_the_envelope_writes_them(path: Path) -> None:
    told = replay(load_fixture(path))
    batch = told.batch()
    validate(batch)
    records = formats.encode(batch, "headwater-json")
    assert [json.loads(record) for record in records] == envelopes(told.events)
    ids = batch.column("event_id").to_pylist()
    assert len(set(ids)) == len(ids)
    assert batch.column("sequence_number").to_pylist() == list(range(1, len(batch) + 1))


def test_times_and_offsets_are_those_of_the_message_when_replayed() -> None:
    begin, insert, end = replayed("postgres", ("Begin", {}), ("Insert", INSERT), ("Commit", {}))
    assert [each["ts"] - 1_700_000_000_000 for each in (begin, insert, end)] == [0, 1, 2]
    assert insert["source"] == {
        "source_name": "postgres", "offset": "fixture_seq_1", "timestamp": insert["ts"],
    }  # fmt: skip
    assert insert["transaction"] == {"tx_id": 0, "total_events": 1, "event_index": 0}
    assert end["transaction"] is None


def test_rows_are_told_at_once_when_no_transaction_is_open() -> None:
    (insert,) = replayed("postgres", ("Insert", INSERT))
    assert insert["transaction"] is None


def test_nothing_is_told_of_a_transaction_when_it_is_rolled_back() -> None:
    told = replayed(
        "mysql",
        ("QueryEvent", {"sql": "BEGIN"}),
        ("WriteRowsEvent", INSERT),
        ("QueryEvent", {"sql": "ALTER TABLE t ADD a INT"}),
        ("QueryEvent", {"sql": "ROLLBACK"}),
    )
    assert [each["table"] for each in told] == [
        "__marker__transaction_begin", "__marker__transaction_abort",
    ]  # fmt: skip
    assert told[1]["after"]["discarded_events"] == 2


@pytest.mark.parametrize(
    ("clause", "operation"),
    [
        ("ADD a int[] NOT NULL", ("AddColumn", "INT[]")),
        ("ADD COLUMN IF NOT EXISTS a double precision", ("AddColumn", "DOUBLE PRECISION")),
        ("ADD a", ("Unsupported", "ADD A")),
        ("ADD PRIMARY KEY (a)", ("Unsupported", "ADD PRIMARY KEY (A)")),
        ('ADD "primary" int', ("AddColumn", "INT")),
        ("ADD a text DEFAULT 'x, Y'", ("AddColumn", "TEXT")),
        ("DROP a", ("DropColumn", "a")),
        ("DROP COLUMN a RESTRICT", ("DropColumn", "a")),
        ("DROP CONSTRAINT a", ("Unsupported", "DROP CONSTRAINT A")),
        ("DROP PRIMARY KEY", ("Unsupported", "DROP PRIMARY KEY")),
        ("RENAME a TO b", ("RenameColumn", "a")),
        ("RENAME CONSTRAINT a TO b", ("Unsupported", "RENAME CONSTRAINT A TO B")),
        ("RENAME TO b", ("Unsupported", "RENAME TO B")),
        ("ALTER a TYPE  numeric(4, 2)", ("Unsupported", "ALTER A TYPE NUMERIC(4, 2)")),
        ("-- why\n DROP a", ("DropColumn", "a")),
    ],
)
def test_clause_of_an_alter_is_understood_when_it_is_about_a_column(
    clause: str, operation: tuple[str, str]
) -> None:
    (event,) = replayed("postgres", ("Ddl", {"statement": f"ALTER TABLE t {clause};"}))
    ((kind, said),) = event["after"]["schema_diff"]["operations"][0].items()
    told = said["column"]["data_type"] if kind == "AddColumn" else next(iter(said.values()))
    assert (kind, told) == operation
    assert len(event["after"]["schema_diff"]["operations"]) == 1


@pytest.mark.parametrize("path", FIXTURES, ids=name)
def test_difference_is_found_when_any_value_of_a_golden_file_is_another(path: Path) -> None:
    golden = json.loads(path.with_name(f"{name(path)}.golden.json").read_bytes())
    assert differences(golden, copy.deepcopy(golden)) == ()
    for index, envelope in enumerate(golden):
        for member in envelope:
            bent = copy.deepcopy(golden)
            bent[index][member] = "another"
            (found,) = differences(golden, bent)
            assert (found.event, found.path) == (index, member)
    assert [each.event for each in differences(golden, golden[:-1])] == [len(golden) - 1]


def test_difference_is_told_by_its_path_and_type_when_it_lies_deep() -> None:
    one: list[Any] = [{"after": {"a": [1, {"b": 1}]}, "x": 1}]
    other: list[Any] = [{"after": {"a": [1, {"b": True}]}}]
    found = [(each.path, each.golden, each.replayed) for each in differences(one, other)]
    assert found == [("after.a[1].b", 1, True), ("x", 1, "(absent)")]


Bend = Callable[[Document], Any]


def _message(index: int, **members: Any) -> Bend:
    return lambda doc: doc["messages"][index].update(members)


def _metadata(**members: Any) -> Bend:
    return lambda doc: doc["metadata"].update(members)


def _payload(**members: Any) -> Bend:
    return _message(1, payload=json.dumps(INSERT | members))


@pytest.mark.parametrize(
    ("bend", "where", "why", "fix"),
    [
        (lambda doc: doc.pop("metadata"), "metadata", "is not there", "an object"),
        (_metadata(id=""), "metadata.id", 'is ""', "a text"),
        (_metadata(source_type="oracle"), "metadata.source_type", "'oracle'", "postgres, mysql"),
        (_metadata(protocol_version="v9"), "metadata.protocol_version", "'v9'", "pgoutput_v2"),
        (_metadata(fixture_version=2), "metadata.fixture_version", "is 2", "version 1"),
        (_metadata(message_count=4), "metadata.message_count", "3 messages", "to 3"),
        (_message(1, seq=0), "messages[1].seq", "is 0 after 0", "upwards"),
        (_message(1, seq="1"), "messages[1].seq", 'is "1"', "a whole number"),
        (_message(1, message_type="Insrt"), "messages[1].message_type", "'Insrt'", "Insert"),
        (_message(1, payload={}), "messages[1].payload", "is {}", "a text"),
        (_message(1, payload="{"), "messages[1].payload", "is not JSON", "json.tool"),
        (_message(1, payload="[]"), "messages[1].payload", "no JSON object", '"{}"'),
        (_message(1, payload='{"a":NaN}'), "messages[1].payload", "NaN", "json.tool"),
        (_payload(table=None), "messages[1].payload", "no table", "correct this Insert"),
        (_payload(tabel="t"), "messages[1].payload", "unknown members: tabel", "correct this"),
        (_payload(after=None), "messages[1].payload", "no after image", "correct this"),
        (_payload(before={}), "messages[1].payload", "a before image", "correct this"),
        (_payload(primary_key=[1]), "messages[1].payload", "primary_key", "correct this"),
        (_payload(unavailable_columns=["id"]), "messages[1].payload", "stands in", "correct"),
        (_message(1, message_type="Begin"), "messages[1].payload", "inside another", "out of"),
        (_message(0, message_type="Commit"), "messages[0].payload", "not begun", "out of"),
        (_message(1, message_type="Ddl"), "messages[1].payload", "no statement", "correct"),
    ],
)
def test_fault_of_a_recording_is_told_with_place_and_fix_when_there_is_one(
    bend: Bend, where: str, why: str, fix: str
) -> None:
    doc = copy.deepcopy(SAMPLE)
    bend(doc)
    with pytest.raises(ConfigError) as caught:
        replay(parse_fixture(json.dumps(doc), name="x.json"))
    error = caught.value
    assert error.code == "fixture-invalid"
    assert error.where == f"x.json: {where}"
    assert why in error.message
    assert fix in error.hint


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"metadata":{}}'])
def test_recording_is_refused_when_it_is_no_fixture_at_all(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_fixture(text)
    assert caught.value.code == "fixture-invalid"
