"""The slot: made as the minimal role, and refused when it cannot give every change (INV-9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from headwater.errors import ConfigError, GapError, HeadwaterError, MachineError, TransientError
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.server.connect import connect, replication_connection
from headwater.source.postgres.server.facts import ServerFacts, read_server
from headwater.source.postgres.server.slot import (
    SlotFacts,
    check_slot,
    create_slot,
    drop_slot,
    list_slots,
    read_slot,
)
from tests.fix_postgres import PostgresDatabase, PostgresServers


@pytest.fixture
def connection(postgres_database: PostgresDatabase) -> Iterator[psycopg.Connection]:
    with connect(postgres_database.config(), "test") as connection:
        yield connection


@pytest.fixture
def server(postgres_database: PostgresDatabase, connection: psycopg.Connection) -> ServerFacts:
    return read_server(connection, postgres_database.config())


@pytest.fixture
def slot(
    postgres_database: PostgresDatabase, connection: psycopg.Connection, server: ServerFacts
) -> SlotFacts:
    """A slot that nobody reads."""
    config = postgres_database.config()
    with replication_connection(config) as replication:
        create_slot(replication, config, server.version_num)
    found = read_slot(connection, config.slot)
    assert found is not None
    return found


def _refusal(
    facts: SlotFacts | None,
    config: PostgresSourceConfig,
    server: ServerFacts,
    resume_lsn: int | None,
) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught:
        check_slot(facts, config, server, resume_lsn)
    return caught.value


def test_exported_snapshot_ends_exactly_where_the_stream_begins(
    postgres_database: PostgresDatabase, connection: psycopg.Connection, server: ServerFacts
) -> None:
    postgres_database.sql("CREATE TABLE t (i int PRIMARY KEY); INSERT INTO t VALUES (1)")
    config = postgres_database.config()
    with replication_connection(config) as replication:
        created = create_slot(replication, config, server.version_num)
        postgres_database.sql("INSERT INTO t VALUES (2)")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute(f"SET TRANSACTION SNAPSHOT '{created.snapshot_name}'".encode())
        assert connection.execute("SELECT i FROM public.t").fetchall() == [(1,)]
        connection.execute("COMMIT")
    found = read_slot(connection, config.slot)
    assert found is not None
    assert found.confirmed_flush_lsn == created.consistent_lsn


def test_slot_without_export_names_no_snapshot(
    postgres_database: PostgresDatabase, server: ServerFacts
) -> None:
    config = postgres_database.config()
    with replication_connection(config) as replication:
        created = create_slot(replication, config, server.version_num, export=False)
    assert created.snapshot_name is None


def test_facts_tell_what_the_server_keeps_for_the_slot(
    postgres_database: PostgresDatabase, connection: psycopg.Connection, slot: SlotFacts
) -> None:
    assert (slot.plugin, slot.database) == ("pgoutput", postgres_database.name)
    assert not slot.temporary
    assert not slot.two_phase
    assert slot.wal_status == "reserved"
    assert not slot.is_lost
    assert slot.active_pid is None
    postgres_database.sql("CREATE TABLE t AS SELECT repeat('x', 100) FROM generate_series(1, 9999)")
    later = read_slot(connection, slot.name)
    assert later is not None
    assert slot.retained_bytes is not None
    assert later.retained_bytes is not None
    assert later.retained_bytes - slot.retained_bytes > 1_000_000
    assert slot.name in [each.name for each in list_slots(connection)]


def test_absent_slot_is_none_and_dropping_it_is_no_error(
    connection: psycopg.Connection, slot: SlotFacts
) -> None:
    assert drop_slot(connection, slot.name)
    assert not drop_slot(connection, slot.name)
    assert read_slot(connection, slot.name) is None


def test_slot_of_the_same_name_cannot_be_made_twice(
    postgres_database: PostgresDatabase, slot: SlotFacts, server: ServerFacts
) -> None:
    config = postgres_database.config(slot=slot.name)
    with replication_connection(config) as replication, pytest.raises(MachineError) as caught:
        create_slot(replication, config, server.version_num)
    assert "42710" in caught.value.message


def test_role_without_replication_is_told_so(postgres_database: PostgresDatabase) -> None:
    with pytest.raises(ConfigError) as caught:
        replication_connection(postgres_database.config("app"))
    assert caught.value.code == "postgres-privilege"
    with (
        connect(postgres_database.config("app"), "test") as app,
        pytest.raises(ConfigError) as dropping,
    ):
        drop_slot(app, "any")
    assert dropping.value.code == "postgres-privilege"
    assert dropping.value.hint == 'ALTER ROLE "app" REPLICATION'


def test_good_slot_passes(
    postgres_database: PostgresDatabase, slot: SlotFacts, server: ServerFacts
) -> None:
    assert slot.confirmed_flush_lsn is not None
    check_slot(slot, postgres_database.config(), server, slot.confirmed_flush_lsn)
    check_slot(slot, postgres_database.config(), server, slot.confirmed_flush_lsn + 10_000)
    check_slot(slot, postgres_database.config(), server, None)


def test_missing_slot_is_a_gap_only_when_there_is_something_to_resume(
    postgres_database: PostgresDatabase, server: ServerFacts
) -> None:
    """INV-9."""
    check_slot(None, postgres_database.config(), server, None)
    error = _refusal(None, postgres_database.config(), server, 100)
    assert isinstance(error, GapError)
    assert error.code == "postgres-slot-missing"


def test_slot_made_anew_is_a_gap(
    postgres_database: PostgresDatabase,
    connection: psycopg.Connection,
    slot: SlotFacts,
    server: ServerFacts,
) -> None:
    """INV-9: the new slot begins after changes that the log has not seen."""
    assert slot.confirmed_flush_lsn is not None
    config = postgres_database.config()
    drop_slot(connection, slot.name)
    postgres_database.sql("CREATE TABLE t (i int)")
    with replication_connection(config) as replication:
        create_slot(replication, config, server.version_num)
    again = read_slot(connection, slot.name)
    error = _refusal(again, config, server, slot.confirmed_flush_lsn)
    assert isinstance(error, GapError)
    assert error.code == "source-gap"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        ("pg_create_logical_replication_slot(%s, 'test_decoding')", "postgres-slot-wrong"),
        ("pg_create_physical_replication_slot(%s)", "postgres-slot-wrong"),
        ("pg_create_logical_replication_slot(%s, 'pgoutput', false, true)", "postgres-two-phase"),
    ],
)
def test_slot_of_another_kind_is_refused(
    postgres_database: PostgresDatabase,
    connection: psycopg.Connection,
    server: ServerFacts,
    make: str,
    code: str,
) -> None:
    name = postgres_database.name
    postgres_database.sql(f"SELECT {make}", name, user="capture")
    try:
        error = _refusal(
            read_slot(connection, name), postgres_database.config(), server, server.wal_lsn
        )
    finally:
        drop_slot(connection, name)
    assert isinstance(error, ConfigError)
    assert error.code == code


def test_slot_of_another_database_is_refused(
    postgres_database: PostgresDatabase, slot: SlotFacts, server: ServerFacts
) -> None:
    other = replace(server, database="elsewhere")
    error = _refusal(slot, postgres_database.config(), other, server.wal_lsn)
    assert error.code == "postgres-slot-wrong"


def test_slot_in_use_is_worth_a_retry_and_names_its_reader(
    postgres_database: PostgresDatabase,
    connection: psycopg.Connection,
    slot: SlotFacts,
    server: ServerFacts,
) -> None:
    postgres_database.sql("CREATE PUBLICATION headwater")
    config = postgres_database.config()
    with replication_connection(config) as reader:
        reader.pgconn.exec_(
            f"START_REPLICATION SLOT {slot.name} LOGICAL 0/0 "
            "(proto_version '1', publication_names 'headwater')".encode()
        )
        found = read_slot(connection, slot.name)
        error = _refusal(found, config, server, slot.confirmed_flush_lsn)
        assert isinstance(error, TransientError)
        assert error.code == "postgres-slot-active"
        assert f"process {reader.info.backend_pid} (headwater-stream)" in error.message
        with pytest.raises(TransientError) as caught:
            drop_slot(connection, slot.name)
        assert caught.value.code == "postgres-slot-active"
        reader.close()


def test_slot_whose_log_was_removed_is_a_gap(postgres_servers: PostgresServers) -> None:
    """INV-9: the server gave up on a slot that held too much log."""
    server = postgres_servers.start({"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"})
    database = postgres_servers.database(server)
    config = database.config()
    with connect(config, "test") as connection:
        facts = read_server(connection, config)
        assert facts.max_slot_wal_keep_bytes == 1 << 20
        with replication_connection(config) as replication:
            created = create_slot(replication, config, facts.version_num)
        for _ in range(3):
            server.sql("SELECT pg_logical_emit_message(false, 'x', 'y'); SELECT pg_switch_wal()")
        server.sql("CHECKPOINT")
        lost = read_slot(connection, config.slot)
        assert lost is not None
        assert lost.is_lost
        error = _refusal(lost, config, facts, created.consistent_lsn)
        check_slot(lost, config, facts, None)
    postgres_servers.discard(server)
    assert isinstance(error, GapError)
    assert error.code == "postgres-wal-lost"


def test_server_without_room_for_a_slot_says_which_limit(postgres_servers: PostgresServers) -> None:
    server = postgres_servers.start({"max_replication_slots": "1"})
    database = postgres_servers.database(server)
    with replication_connection(database.config()) as replication:
        create_slot(replication, database.config(), replication.info.server_version)
        second = database.config(slot="second")
        with pytest.raises(MachineError) as caught:
            create_slot(replication, second, replication.info.server_version)
    postgres_servers.discard(server)
    assert caught.value.code == "postgres-limit"
