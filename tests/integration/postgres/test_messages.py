"""Logical messages stand in their transactions, among the rows, and nowhere else."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.app.config import parse_config
from headwater.app.pipeline import Pipeline
from headwater.event import Event, Operation, Transaction
from headwater.source.postgres.config import Transport
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import capturing, publish

CONFIG = """\
version: 1
name: NAME
source:
  url: ${DATABASE_URL}
  messages: [outbox]
log:
  path: shop.hwlog
sinks:
  - {name: changes, type: file, path: changes.jsonl, format: debezium}
  - {name: rows, type: file, path: rows.jsonl, format: cdc-format, tables: ["?*"]}
"""


@pytest.fixture
def database(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    return postgres_database


def say(db: psycopg.Connection, prefix: str, content: bytes = b"", *, inside: bool = True) -> None:
    db.execute("SELECT pg_logical_emit_message(%s, %s, %s::bytea)", (inside, prefix, content))


def told(events: Sequence[Event]) -> list[Any]:
    """Keys of rows, prefix and content of messages."""
    found: list[Any] = []
    for event in events:
        after = event.after or {}
        if event.op is Operation.MESSAGE:
            assert (event.table_id.schema, event.table_id.name) == (None, "")
            found.append((after["prefix"], b64decode(after["content"])))
        else:
            found.append(after["id"])
    return found


@pytest.mark.parametrize("transport", [Transport.REPLICATION, Transport.SQL])
def test_messages_stand_among_the_rows_of_their_transaction(
    database: PostgresDatabase, transport: Transport
) -> None:
    settings = {"messages": ("outbox", "audit.*", "headwater*"), "transport": transport}
    config, log = publish(database, **settings), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        with database.connect() as db:
            with db.transaction():
                say(db, "headwater.context", b'{"user_id": 7}')
                db.execute("INSERT INTO t VALUES (1, 'a')")
                say(db, "outbox", b"\x00\xff")
                say(db, "Outbox")  # prefixes have their case
                db.execute("INSERT INTO t VALUES (2, 'b')")
                say(db, "outbox", b"at once", inside=False)
                with db.transaction(force_rollback=True):
                    say(db, "outbox", b"undone")
                say(db, "audit.login", "é".encode())
                say(db, "headwater.mine")
            say(db, "outbox", b"alone")  # a transaction with nothing else in it
            with db.transaction(force_rollback=True):
                say(db, "outbox", b"rolled back")
            say(db, "outbox", b"alone and at once", inside=False)
            db.execute("INSERT INTO t VALUES (3, 'c')")
        seen = capture.source.read(100, 30)  # read, and lost before it was durable
        assert seen is not None
        capture.open_again()
        events = capture.until(6)
    assert told(events) == [
        1, ("outbox", b"\x00\xff"), 2, ("audit.login", "é".encode()),
        ("outbox", b"alone"), 3,
    ]  # fmt: skip
    again = {event.source.offset: event.event_id for event in seen.events}
    assert again.items() <= {event.source.offset: event.event_id for event in events}.items()
    assert len({event.event_id for event in events}) == 6
    assert [event.sequence_number for event in events] == list(range(1, 7))
    first, alone = events[0].transaction, events[4].transaction
    assert first is not None
    assert alone is not None
    assert [event.transaction for event in events[:4]] == [
        Transaction(first.tx_id, 4, index) for index in range(4)
    ]
    assert alone == Transaction(alone.tx_id, 1, 0)
    assert {json.dumps(event.context) for event in events[:4]} == {'{"user_id": 7}'}
    with capturing(config, log) as capture:
        assert len(capture.settle()) == 6


def test_messages_are_no_events_when_none_are_asked_for(database: PostgresDatabase) -> None:
    with capturing(publish(database)) as capture:
        capture.settle()
        database.sql("SELECT pg_logical_emit_message(true, 'outbox', 'x')")
        database.sql("INSERT INTO t VALUES (1, 'a')")
        (event,) = capture.until(1)
    assert event.op is Operation.INSERT


def test_messages_are_m_in_debezium_and_left_out_by_a_sink_of_tables(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    name = f"headwater_{database.name}"
    publish(database, publication=name)
    text = CONFIG.replace("NAME", database.name)
    config = parse_config(text, tmp_path / "shop.yaml", {"DATABASE_URL": database.dsn()})
    Pipeline(config).run(once=True)
    with database.connect() as db, db.transaction():
        db.execute("INSERT INTO t VALUES (1, 'a')")
        say(db, "outbox", b"hello")
    Pipeline(config).run(once=True)
    lines = [json.loads(line) for line in (tmp_path / "changes.jsonl").read_text().splitlines()]
    assert [line["op"] for line in lines] == ["c", "m"]
    assert lines[1]["message"] == {"prefix": "outbox", "content": "aGVsbG8="}
    assert lines[1]["source"]["txId"] == lines[0]["source"]["txId"]
    assert [line["transaction"]["total_order"] for line in lines] == [1, 2]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 1
