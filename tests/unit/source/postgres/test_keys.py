"""Rows by their keys: the condition, and which keys are taken for absent."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.errors import ConfigError
from headwater.event import Column, EventBatch, Kind, LogicalType, Operation, TableId, TableSchema
from headwater.source.postgres.tables.keys import absent, key_condition
from headwater.source.postgres.tables.overlay import Overlay

TABLE = TableSchema(
    TableId("public", "t"),
    (
        Column("id", LogicalType(Kind.INT64), nullable=False),
        Column('odd"name', LogicalType(Kind.STRING), nullable=False),
        Column("raw", LogicalType(Kind.BINARY), nullable=False),
    ),
    ("id", 'odd"name', "raw"),
)
KEYS = tuple(f'{{"id":{number}}}' for number in (1, 2, 3))


def images(*texts: str) -> pa.Array:
    return pa.array(texts, pa.string())


def told(op: Operation, before: str | None, after: str | None) -> pa.RecordBatch:
    return EventBatch.from_columns(
        {"op": [int(op)], "table_name": "t", "before": [before], "after": [after]}
    ).records


def test_condition_quotes_names_and_values() -> None:
    key = '{"id":-7,"odd\\"name":"it\'s \\\\","raw":"AP8="}'
    names = '("id", "odd""name", "raw")'
    values = r"('-7', E'it''s \\', decode('AP8=', 'base64'))"
    assert key_condition([key], TABLE) == f"{names} IN ({values})"


@pytest.mark.parametrize(
    "key",
    [
        '{"id":1}',
        '{"id":1,"odd\\"name":"x","raw":"","more":1}',
        '{"id":[1],"odd\\"name":"x","raw":""}',
        '{"id":null,"odd\\"name":"x","raw":""}',
        "7",
    ],
)
def test_condition_is_refused_when_it_is_no_key(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        key_condition([key], TABLE)
    assert caught.value.code == "backfill-key"


def test_a_key_is_absent_when_neither_rows_nor_stream_have_it() -> None:
    overlay = Overlay(("id",))
    overlay.note(told(Operation.INSERT, None, '{"id":3,"n":1}'))
    assert absent(KEYS, images('{"id":1,"n":7}'), overlay) == ('{"id":2}',)


def test_no_key_is_absent_when_the_stream_has_deleted_it_already() -> None:
    overlay = Overlay(("id",))
    overlay.note(told(Operation.DELETE, '{"id":1}', None))
    assert absent(KEYS[:1], images('{"id":1,"n":7}'), overlay) == ()


def test_every_key_is_absent_when_the_stream_has_emptied_the_table() -> None:
    overlay = Overlay(("id",))
    overlay.note(told(Operation.TRUNCATE, None, None))
    overlay.note(told(Operation.INSERT, None, '{"id":2,"n":1}'))
    assert absent(KEYS, images('{"id":1,"n":7}'), overlay) == ('{"id":1}', '{"id":3}')


def test_no_key_is_absent_when_a_row_writes_its_key_in_another_way() -> None:
    assert absent(('{"id":1.50}', '{"id":2}'), images('{"id":1.5}'), Overlay(("id",))) == ()
