"""The log that an idle slot holds back on the server is told of before the server gives it up."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.server.facts import read_server
from headwater.source.postgres.server.watch import Seen, Watch, level_of
from tests.fix_postgres import PostgresDatabase, PostgresServers
from tests.integration.postgres.capturing import capturing, publish

_MEGABYTE = 1024 * 1024
_GIGABYTE = 1024 * _MEGABYTE
_LIMIT = 100 * _MEGABYTE


@pytest.fixture
def database(postgres_servers: PostgresServers) -> Iterator[PostgresDatabase]:
    """A slot on a server of its own: whoever else writes would hurry the levels."""
    server = postgres_servers.start(
        {"max_slot_wal_keep_size": f"{_LIMIT // _MEGABYTE}MB", "autovacuum": "off"}
    )
    made = postgres_servers.database(server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    with capturing(publish(made)) as capture:
        capture.settle()
    yield made
    postgres_servers.discard(server)


def _write(database: PostgresDatabase, segments: int) -> None:
    """Log of others: the slot's own reader is away."""
    for _ in range(segments):
        database.sql("SELECT pg_logical_emit_message(false, 'noise', 'x')", user="postgres")
        database.sql("SELECT pg_switch_wal()", user="postgres")


def _catch_up(database: PostgresDatabase) -> None:
    for _ in range(2):  # a slot lets go of what it had confirmed before
        database.sql("CHECKPOINT", user="postgres")
        database.sql(
            "SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())",
            database.name,
            user="postgres",
        )


@pytest.mark.parametrize(
    ("retained", "limit", "level"),
    [
        (0, _LIMIT, 0),
        (_LIMIT // 2 - 1, _LIMIT, 0),
        (_LIMIT // 2, _LIMIT, 1),
        (_LIMIT * 8 // 10 - 1, _LIMIT, 1),
        (_LIMIT * 8 // 10, _LIMIT, 2),
        (8 * _GIGABYTE - 1, None, 0),
        (8 * _GIGABYTE, None, 1),
        (64 * _GIGABYTE, None, 2),
    ],
)
def test_level_is_a_share_of_the_limit_when_there_is_one(
    retained: int, limit: int | None, level: int
) -> None:
    assert level_of(retained, limit) == level


def test_each_level_is_said_once_and_again_when_it_got_worse_again(
    database: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    config = database.config()
    with connect(config, "control") as connection:
        watch = Watch(connection, config, read_server(connection, config))

        def look() -> tuple[Seen, list[str]]:
            caplog.clear()
            with caplog.at_level(logging.WARNING, "headwater.source.postgres"):
                seen = watch.look(0)
            return seen, [record.levelname for record in caplog.records]

        seen, said = look()
        assert said == []
        assert seen.gauges["slot_retained_bytes"] < _LIMIT // 2
        assert seen.gauges["slot_safe_bytes"] > 0
        _write(database, 4)
        assert look()[1] == ["WARNING"]
        assert look()[1] == []
        _write(database, 2)
        seen, said = look()
        assert said == ["ERROR"]
        assert seen.gauges["slot_retained_bytes"] >= _LIMIT * 0.8
        assert vars(caplog.records[0])["slot"] == database.name
        assert look()[1] == []
        _catch_up(database)
        assert look()[1] == []
        _write(database, 4)
        assert look()[1] == ["WARNING"]
