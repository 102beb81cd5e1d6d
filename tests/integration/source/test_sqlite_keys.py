"""Rows of a SQLite database that are read again by their keys, of every storage class."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.contract import Command, Verb, Wish
from headwater.errors import ConfigError
from headwater.event import Column, Event, Operation, TableId, TableSchema, validate
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig
from headwater.source.sqlite.image import image_sql, register
from headwater.source.sqlite.keys import read_keys
from headwater.source.sqlite.types import logical_type

TABLES = """
CREATE TABLE words (word TEXT COLLATE NOCASE PRIMARY KEY, n);
INSERT INTO words VALUES ('a', 1), ('B', 2);
CREATE TABLE odd (key PRIMARY KEY, n INTEGER);
INSERT INTO odd VALUES (5, 1), ('5', 2), (1.5, 3), (x'00ff', 4), (9e999, 5);
CREATE TABLE blobs (key BLOB, part INTEGER, n, PRIMARY KEY (key, part)) WITHOUT ROWID;
INSERT INTO blobs VALUES (x'ff', 1, 1), ('text', 1, 2);
CREATE TABLE bare (n);
"""


@pytest.fixture
def source(tmp_path: Path) -> SqliteSource:
    with sqlite3.connect(tmp_path / "odd.db") as db:
        db.executescript(TABLES)
    source = SqliteSource(SqliteSourceConfig(path=tmp_path / "odd.db"))
    source.open(None)
    while source.read(100, 0.0) is not None:
        pass
    return source


def wish(table: str, *keys: dict[str, Any]) -> Wish:
    return Wish(verb=Verb.START, table=table, keys=tuple(map(json.dumps, keys)))


def read_again(source: SqliteSource, number: int, asked: Wish) -> list[Event]:
    taken = source.take(Command(number, asked))
    assert taken is not None
    (owed,) = source.owed()
    assert (owed.command, owed.rows_total) == (number, len(asked.keys or ()))
    # A process that begins here has not forgotten it.
    source.close()
    source.open(taken.position)
    batch = source.read(100, 0.0)
    assert batch is not None
    validate(batch.events)
    assert source.owed() == ()
    return list(batch.events)


def test_rows_and_absences_are_told_when_keys_are_of_any_class(source: SqliteSource) -> None:
    words = read_again(source, 1, wish("words", {"word": "A"}, {"word": "B"}))
    assert [(event.op, event.before, event.after) for event in words] == [
        (Operation.DELETE, {"word": "A"}, None),
        (Operation.READ, None, {"word": "B", "n": 2}),
    ]
    keys = [5, "5", 1.5, {"$binary": "AP8="}, 6]
    odd = read_again(source, 2, wish("odd", *({"key": key} for key in keys)))
    assert [event.after["n"] for event in odd if event.after] == [1, 2, 3, 4]
    assert [event.before["key"] for event in odd if event.before] == [6]
    blobs = [{"key": "/w==", "part": 1}, {"key": {"$text": "text"}, "part": 1}]
    found = read_again(source, 3, wish("blobs", *blobs))
    assert [event.after["n"] for event in found if event.after] == [1, 2]
    ids = {event.event_id for event in (*words, *odd, *found)}
    assert len(ids) == len(words) + len(odd) + len(found)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (wish("nothing", {"id": 1}), "backfill-table"),
        (wish("bare", {"n": 1}), "backfill-no-key"),
        (wish("words", {"n": 1}), "backfill-key"),
        (wish("words", {"word": [1]}), "backfill-key"),
        (wish("words", {"word": {}}), "backfill-key"),
        (wish("words", {"word": {"$binary": "no base64"}}), "backfill-key"),
        (wish("words", {"word": "\ud800"}), "backfill-key"),
        (wish("odd", {"key": True}), "backfill-key"),
        (wish("odd", {"key": 1 << 63}), "backfill-key"),
        (Wish(verb=Verb.START, table="words", keys=("word",)), "backfill-key"),
        (Wish(verb=Verb.START, table="words"), "backfill-unsupported"),
        (Wish(verb=Verb.PAUSE), "backfill-unsupported"),
    ],
)
def test_a_command_is_refused_when_it_names_no_keys_of_a_table(
    source: SqliteSource, asked: Wish, code: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        source.take(Command(1, asked))
    assert caught.value.code == code
    assert source.owed() == ()


# SQLite lets each stand in a key of any type, changed or not. The last has a word as its base64.
VALUES = (
    *("1", "-5", "9223372036854775807", "1.5", "0.1", "-0.0", "1e22", "1e300", "2.5e-8"),
    *("9e999", "-9e999", "'abc'", "''", "'1'", "'1.0'", "' 1 '", "'true'", "'null'", "'\"q\"'"),
    *("'Infinity'", "'-Infinity'", "'Inf'", "'é🫖'", """'{"$binary":"AA=="}'""", "NULL"),
    *("CAST(x'e96c616e' AS TEXT)", "CAST(x'31ff' AS TEXT)", "CAST(x'610062' AS TEXT)"),
    *("x''", "x'00ff'", "x'e96c616e'", "x'616263'", "x'31'", "x'2277e29e2b72'"),
)


@pytest.mark.parametrize("declared", ["INTEGER", "INT", "TEXT", "BLOB", "REAL", "DECIMAL", ""])
def test_exactly_the_rows_of_a_key_are_read_when_it_is_spelled_as_in_its_image(
    declared: str,
) -> None:
    column = Column("k", logical_type(declared))
    schema = TableSchema(TableId(None, "t"), (column,), ("k",))
    with closing(sqlite3.connect(":memory:")) as db:
        register(db)
        db.execute(f"CREATE TABLE t (k {declared}, UNIQUE (k))")
        for value in VALUES:
            db.execute(f"INSERT OR IGNORE INTO t VALUES ({value})")
        image = image_sql([(column.name, column.type)], ["k"], careful=True)
        images = [text for (text,) in db.execute(f"SELECT {image} FROM t")]
        for text in images:
            found = read_keys(db, schema, [text])
            assert found.images.to_pylist() == [text] * images.count(text)
        db.execute("DELETE FROM t")
        assert list(read_keys(db, schema, images).absent) == images
