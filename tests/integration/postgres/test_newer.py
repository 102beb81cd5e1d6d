"""What newer servers add: slots that follow a failover, reasons for a lost slot, one more timeout.

The rest of this directory runs on them too, with HEADWATER_TEST_POSTGRES=17.
"""

from __future__ import annotations

from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.connect import connect, replication_connection
from headwater.source.postgres.server.facts import check_server, read_server
from headwater.source.postgres.server.publication import ensure
from headwater.source.postgres.server.slot import SlotFacts, create_slot, drop_slot, read_slot
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers


def _slot(database: PostgresDatabase, *, failover: bool) -> SlotFacts:
    config = database.config(failover=failover)
    with connect(config, "test") as connection, replication_connection(config) as replication:
        create_slot(replication, config, connection.info.server_version)
        found = read_slot(connection, config.slot)
        drop_slot(connection, config.slot)
    assert found is not None
    return found


def test_tables_publication_and_server_are_read_as_on_the_installed_version(
    newer_postgres: dict[int, PostgresServer], postgres_servers: PostgresServers
) -> None:
    for version, server in newer_postgres.items():
        database = postgres_servers.database(server)
        database.sql("CREATE TABLE t (i int PRIMARY KEY, g int GENERATED ALWAYS AS (i) STORED)")
        with connect(database.config("app"), "test") as connection:
            facts = read_server(connection, database.config())
            check_server(facts)
            tables = read_tables(connection, database.config())
            ensure(connection, database.config("app"), tables)
            assert ensure(connection, database.config(), tables) == ()
        assert facts.version_num // 10_000 == version
        assert [column.generated for column in tables[0].columns] == [False, True]
        postgres_servers.drop(database)


def test_no_timeout_ends_a_long_snapshot(newer_postgres: dict[int, PostgresServer]) -> None:
    for server in newer_postgres.values():
        server.sql("ALTER ROLE capture SET transaction_timeout = '5s'")
        config = PostgresDatabase(server, "postgres").config(slot="any")
        with connect(config, "test") as ordinary, replication_connection(config) as replication:
            for connection in (ordinary, replication):
                assert connection.execute("SHOW transaction_timeout").fetchone() == ("0",)
        server.sql("ALTER ROLE capture RESET transaction_timeout")


def test_slot_follows_a_failover_if_the_configuration_says_so(
    newer_postgres: dict[int, PostgresServer], postgres_servers: PostgresServers
) -> None:
    for server in newer_postgres.values():
        database = postgres_servers.database(server)
        assert _slot(database, failover=True).failover
        assert not _slot(database, failover=False).failover
        postgres_servers.drop(database)


def test_lost_slot_says_why(
    newer_postgres: dict[int, PostgresServer], postgres_servers: PostgresServers
) -> None:
    for server in newer_postgres.values():
        server.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
        server.sql("SELECT pg_reload_conf()")
        database = postgres_servers.database(server)
        config = database.config()
        with connect(config, "test") as connection, replication_connection(config) as replication:
            create_slot(replication, config, connection.info.server_version)
            replication.close()
            for _ in range(3):
                server.sql(
                    "SELECT pg_logical_emit_message(false, 'x', 'y'); SELECT pg_switch_wal()"
                )
            server.sql("CHECKPOINT")
            lost = read_slot(connection, config.slot)
        assert lost is not None
        assert lost.is_lost
        assert lost.invalidation == "wal_removed"
        postgres_servers.drop(database)
        server.sql("ALTER SYSTEM RESET max_slot_wal_keep_size")
        server.sql("SELECT pg_reload_conf()")
