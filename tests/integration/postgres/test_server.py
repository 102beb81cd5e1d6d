"""Which server this is, and whether a checkpoint belongs to its history (INV-9)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.errors import ConfigError, GapError
from headwater.source.postgres.config import Transport
from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.server.facts import (
    ServerFacts,
    check_identity,
    check_server,
    read_server,
)
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers


def _facts(database: PostgresDatabase, transport: Transport = Transport.REPLICATION) -> ServerFacts:
    config = database.config(transport=transport)
    with connect(config, "test") as connection:
        return read_server(connection, config)


@pytest.fixture(scope="module")
def own_server(postgres_servers: PostgresServers) -> Iterator[PostgresServer]:
    server = postgres_servers.start()
    yield server
    postgres_servers.discard(server)


def test_facts_are_those_of_the_server(postgres_database: PostgresDatabase) -> None:
    facts = _facts(postgres_database)
    (row,) = postgres_database.sql(
        """SELECT current_setting('server_version_num')::int, system_identifier::text,
                  (SELECT oid::int FROM pg_database WHERE datname = current_database())
           FROM pg_control_system()""",
        user="postgres",
    )
    assert (facts.version_num, facts.system_identifier, facts.database_oid) == row
    assert facts.database == postgres_database.name
    assert (facts.timeline, facts.switches) == (1, ())
    assert facts.wal_level == "logical"
    assert facts.max_slot_wal_keep_bytes is None
    assert facts.wal_sender_timeout_ms == 60_000
    assert not facts.in_recovery
    check_server(facts)


def test_identity_comes_over_replication_where_the_function_is_kept_from_the_role(
    postgres_database: PostgresDatabase,
) -> None:
    before = _facts(postgres_database)
    revoke = "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"
    postgres_database.sql(revoke, user="postgres")
    after = _facts(postgres_database)
    assert (after.system_identifier, after.timeline) == (before.system_identifier, before.timeline)
    with pytest.raises(ConfigError, match="which server this is") as caught:
        _facts(postgres_database, Transport.SQL)
    assert caught.value.hint == 'GRANT EXECUTE ON FUNCTION pg_control_system() TO "capture"'
    postgres_database.sql(caught.value.hint, user="postgres")
    assert _facts(postgres_database, Transport.SQL).system_identifier == before.system_identifier


def test_server_that_writes_too_little_is_refused(postgres_servers: PostgresServers) -> None:
    server = postgres_servers.start({"wal_level": "replica"})
    facts = _facts(postgres_servers.database(server))
    postgres_servers.discard(server)
    with pytest.raises(ConfigError) as caught:
        check_server(facts)
    assert caught.value.code == "postgres-wal-level"


def test_checkpoint_of_this_server_passes(postgres_database: PostgresDatabase) -> None:
    facts = _facts(postgres_database)
    check_identity(facts, system=facts.system_identifier, timeline=1, lsn=facts.wal_lsn)


def test_checkpoint_of_another_server_is_a_gap(postgres_database: PostgresDatabase) -> None:
    facts = _facts(postgres_database)
    with pytest.raises(GapError) as caught:
        check_identity(facts, system="1", timeline=1, lsn=1)
    assert caught.value.code == "postgres-other-server"


def test_checkpoint_ahead_of_the_server_is_a_gap(postgres_database: PostgresDatabase) -> None:
    """A copy of the disk was put back: the log knows changes that never happened here."""
    facts = _facts(postgres_database)
    with pytest.raises(GapError, match="restored to an earlier time"):
        check_identity(
            facts, system=facts.system_identifier, timeline=1, lsn=facts.wal_lsn + (1 << 30)
        )


def test_promoted_standby_goes_on_only_from_before_the_promotion(
    postgres_servers: PostgresServers, own_server: PostgresServer
) -> None:
    database = postgres_servers.database(own_server)
    before = _facts(database)
    own_server.stop()
    (own_server.data / "standby.signal").touch()
    own_server.start()
    standby = _facts(database)
    assert standby.in_recovery
    assert standby.system_identifier == before.system_identifier
    check_identity(standby, system=before.system_identifier, timeline=1, lsn=standby.wal_lsn + 1000)
    with pytest.raises(ConfigError, match="a standby says") as caught:
        _facts(database, Transport.SQL)
    assert caught.value.code == "postgres-no-replication"
    own_server.sql("SELECT pg_promote()")

    facts = _facts(database)
    assert facts.timeline == 2
    assert facts.switches is not None
    assert [timeline for timeline, _ in facts.switches] == [1]
    switch = dict(facts.switches)[1]
    system = facts.system_identifier
    check_identity(facts, system=system, timeline=1, lsn=before.wal_lsn)
    check_identity(facts, system=system, timeline=1, lsn=switch)
    check_identity(facts, system=system, timeline=2, lsn=facts.wal_lsn)
    with pytest.raises(GapError):
        check_identity(facts, system=system, timeline=1, lsn=switch + 1)
    with pytest.raises(GapError):
        check_identity(facts, system=system, timeline=3, lsn=before.wal_lsn)
    _check_without_replication(database, facts)


def _check_without_replication(database: PostgresDatabase, known: ServerFacts) -> None:
    """What cannot be read is no reason to stop, until a checkpoint needs it."""
    blind = _facts(database, Transport.SQL)
    assert (blind.timeline, blind.switches) == (2, None)
    check_identity(blind, system=known.system_identifier, timeline=2, lsn=blind.wal_lsn)
    with pytest.raises(ConfigError, match="pg_read_file") as caught:
        check_identity(blind, system=known.system_identifier, timeline=1, lsn=1)
    assert caught.value.code == "postgres-privilege"
    grant = "GRANT EXECUTE ON FUNCTION pg_read_file(text) TO capture"
    database.sql(grant, user="postgres")
    assert _facts(database, Transport.SQL).switches == known.switches
