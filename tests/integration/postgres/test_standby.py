"""Capture from a hot standby: first load, stream, and tables that come later (PostgreSQL 16 on)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from headwater.errors import ConfigError
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServers, newer_servers
from tests.integration.postgres.capturing import PATIENCE_S, Capture, capturing, publish, replay

_NEWEST = 17


@dataclass(frozen=True, slots=True)
class Pair:
    """The same database on a primary, where everyone writes, and on its standby."""

    primary: PostgresDatabase
    standby: PostgresDatabase

    def wait(self) -> None:
        """Until the standby has everything that was written."""
        ((lsn,),) = self.primary.sql("SELECT pg_current_wal_lsn()::text", user="postgres")
        deadline = time.monotonic() + PATIENCE_S
        while not self.standby.sql("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", lsn)[0][0]:
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.02)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """The primary says now and then which transactions run: a slot on a standby needs that."""
        ended = threading.Event()

        def say() -> None:
            with self.primary.connect("postgres") as connection:
                while not ended.wait(0.1):
                    connection.execute("SELECT pg_log_standby_snapshot()")

        thread = threading.Thread(target=say)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@pytest.fixture(scope="module")
def pair(postgres_servers: PostgresServers) -> Iterator[Pair]:
    primary = postgres_servers.start(binaries=newer_servers()[_NEWEST])
    database = postgres_servers.database(primary)
    database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    database.sql("INSERT INTO t SELECT g, 'first' FROM generate_series(1, 50) g")
    publish(database)
    standby = postgres_servers.standby(primary)
    yield Pair(database, replace(database, server=standby))
    postgres_servers.discard(standby)
    postgres_servers.discard(primary)


def _until_equal(pair: Pair, capture: Capture, table: str) -> None:
    there = dict(pair.primary.sql(f"SELECT id, v FROM {table}"))
    deadline = time.monotonic() + PATIENCE_S
    while True:
        rows = replay(capture.settle()).get(table, {})
        held = {key: row["v"] for (key,), row in rows.items()}
        if held == there:
            return
        assert time.monotonic() < deadline, f"{len(held)} rows of {len(there)}"


def test_log_equals_the_tables_when_a_standby_is_captured(pair: Pair) -> None:
    log = MemoryLog()
    pair.wait()
    config = pair.standby.config(heartbeat_interval_s=0.2)
    with pair.busy(), capturing(config, log) as capture:
        _until_equal(pair, capture, "t")
        pair.primary.sql("UPDATE t SET v = 'second' WHERE id < 9; DELETE FROM t WHERE id = 3")
        _until_equal(pair, capture, "t")
        # Published on the primary, and taken up with its rows on the standby.
        pair.primary.sql("CREATE TABLE late (id int PRIMARY KEY, v text)")
        pair.primary.sql("INSERT INTO late SELECT g, 'old' FROM generate_series(1, 50) g")
        pair.wait()
        capture.settle()
        publish(pair.primary)
        pair.primary.sql("INSERT INTO late VALUES (100, 'new')")
        _until_equal(pair, capture, "late")
    pair.primary.sql("INSERT INTO t VALUES (200, 'later')")
    pair.wait()
    with pair.busy(), capturing(config, log) as capture:
        _until_equal(pair, capture, "t")


def test_fix_is_for_the_primary_when_a_table_is_not_published(pair: Pair) -> None:
    pair.primary.sql("CREATE TABLE bare (id int PRIMARY KEY)")
    pair.wait()
    with pytest.raises(ConfigError) as caught, capturing(pair.standby.config("postgres")):
        pass
    assert caught.value.code == "postgres-publication"
    assert 'ADD TABLE ONLY "public"."bare"' in (caught.value.hint or "")
    pair.primary.sql("DROP TABLE bare")
    pair.wait()
