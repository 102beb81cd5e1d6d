"""Both ways to read the stream give the same messages of the same slot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from headwater.event import EventBatch, Position
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.stream import copyboth, receive
from headwater.source.postgres.stream.copyboth import LibraryStream, SocketStream
from headwater.source.postgres.tables import copying
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import capturing, publish


def test_events_are_equal_when_read_by_the_library_and_from_the_socket(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = postgres_database
    database.sql("CREATE TABLE t (id integer PRIMARY KEY, body text)")
    config = publish(database)
    log = MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        resume = capture.writer.position
    database.sql("INSERT INTO t SELECT g, repeat('x', g % 900) FROM generate_series(1, 3000) g")
    database.sql("UPDATE t SET body = 'y' WHERE id % 3 = 0; DELETE FROM t WHERE id % 7 = 0")
    read = []
    for stream in (SocketStream, LibraryStream):
        monkeypatch.setattr(receive, "copy_both", lambda connection, s=stream: s(connection.pgconn))
        read.append(_read_again(PostgresSource(config), resume, 3000 + 1000 + 428))
    assert read[0].equals(read[1])


def _read_again(source: PostgresSource, resume: Position | None, count: int) -> EventBatch:
    """So many events from a position on; nothing is confirmed, so the slot gives them again."""
    source.open(resume)
    batches: list[EventBatch] = []
    while sum(map(len, batches)) < count:
        batch = source.read(100_000, 10.0)
        assert batch is not None
        batches.append(batch.events)
    source.close()
    # Where a gulp ended decides whether a transaction's size was known: leave it out.
    records = EventBatch.concat(batches).records
    place = records.schema.get_field_index("transaction")
    plain = pa.nulls(records.num_rows, records.schema.field(place).type)
    return EventBatch(records.set_column(place, records.schema.field(place), plain))


def test_library_is_asked_when_the_connection_is_encrypted() -> None:
    def connection(ssl: bool, gss: str) -> Any:
        info = SimpleNamespace(get_parameters=lambda: {"gssencmode": gss})
        return SimpleNamespace(pgconn=SimpleNamespace(ssl_in_use=ssl), info=info)

    assert isinstance(copyboth.copy_both(connection(True, "disable")), LibraryStream)
    assert isinstance(copyboth.copy_both(connection(False, "require")), LibraryStream)


_COPIED = "SELECT g, repeat(E'tab\\tline\\n\\\\', g % 40), NULL FROM generate_series(1, 5000) g"


def test_copied_rows_are_equal_when_read_by_the_library_and_from_the_socket(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(postgres_database.config(), "test") as connection:
        quick = bytes(copying.copy_out(connection, _COPIED))
        monkeypatch.setattr(copying, "is_plain", lambda _: False)
        assert bytes(copying.copy_out(connection, _COPIED)) == quick
        assert quick.count(b"\n") == 5000


@pytest.mark.parametrize("plain", [True, False])
def test_connection_goes_on_when_a_copy_was_refused(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, *, plain: bool
) -> None:
    monkeypatch.setattr(copying, "is_plain", lambda _: plain)
    with connect(postgres_database.config(), "test") as connection:
        for query in ("SELECT nothing", "SELECT 1 / (3000 - g) FROM generate_series(1, 5000) g"):
            with pytest.raises(psycopg.Error):
                copying.copy_out(connection, query)
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert bytes(copying.copy_out(connection, "SELECT 1 WHERE false")) == b""
