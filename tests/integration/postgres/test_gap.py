"""Changes that are gone are noticed, and met as the user chose (INV-9). Peers go on in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headwater.contract import OnGap
from headwater.errors import GapError, TransientError
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers
from tests.integration.postgres.capturing import capturing, publish, replay

# A slot may hold back one segment of the log and no more.
_TIGHT = {"max_slot_wal_keep_size": "16MB", "min_wal_size": "32MB", "max_wal_size": "48MB"}


@pytest.fixture(scope="module")
def tight_server(postgres_servers: PostgresServers) -> Iterator[PostgresServer]:
    server = postgres_servers.start(_TIGHT)
    yield server
    postgres_servers.discard(server)


@pytest.fixture
def database(
    postgres_servers: PostgresServers, tight_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    made = postgres_servers.database(tight_server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield made
    postgres_servers.drop(made)


def _drop(database: PostgresDatabase) -> None:
    database.sql("SELECT pg_drop_replication_slot(%s)", database.name, user="postgres")


def _make_anew(database: PostgresDatabase) -> None:
    _drop(database)
    database.sql(
        "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')",
        database.name,
        user="postgres",
    )


def _read_elsewhere(database: PostgresDatabase) -> None:
    database.sql(
        "SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())",
        database.name,
        user="postgres",
    )


def _lose_log(database: PostgresDatabase) -> None:
    for _ in range(6):
        database.sql("SELECT pg_logical_emit_message(false, 'fill', 'x')", user="postgres")
        database.sql("SELECT pg_switch_wal()", user="postgres")
    database.sql("CHECKPOINT", user="postgres")


Loss = Callable[[PostgresDatabase], None]
LOSSES: dict[str, tuple[Loss, str]] = {
    "slot_dropped": (_drop, "postgres-slot-missing"),
    "slot_made_anew": (_make_anew, "source-gap"),
    "slot_read_by_another": (_read_elsewhere, "source-gap"),
    "log_removed": (_lose_log, "postgres-wal-lost"),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def _before_and_after(database: PostgresDatabase, name: str) -> MemoryLog:
    """A log that holds rows 1 and 2. Then row 1 is deleted and row 3 made, and both are lost."""
    log = MemoryLog()
    database.sql("INSERT INTO t VALUES (1, 'a')")
    with capturing(publish(database), log) as capture:
        capture.until(1)
        database.sql("INSERT INTO t VALUES (2, 'b')")
        capture.until(2)
    database.await_free_slot()
    database.sql("DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (3, 'c')")
    LOSSES[name][0](database)
    return log


@every_loss
def test_capture_halts_with_a_gap_when_told_to(database: PostgresDatabase, name: str) -> None:
    log = _before_and_after(database, name)
    position = log.position
    for _ in range(2):  # opening again does not make it good
        with pytest.raises(GapError) as caught, capturing(publish(database), log):
            pass
        assert caught.value.code == LOSSES[name][1]
    assert log.position == position


@every_loss
def test_capture_reads_the_tables_again_when_told_to(database: PostgresDatabase, name: str) -> None:
    log = _before_and_after(database, name)
    config = publish(database, on_gap=OnGap.RESNAPSHOT)
    with capturing(config, log) as capture:
        events = capture.until(5)
        assert replay(events) == {"t": {(2,): {"id": 2, "v": "b"}, (3,): {"id": 3, "v": "c"}}}
        database.sql("UPDATE t SET v = 'd' WHERE id = 3")
        assert replay(capture.until(6))["t"][(3,)] == {"id": 3, "v": "d"}
    with capturing(publish(database), log) as capture:  # the gap is over
        assert len(capture.settle()) == 6


@every_loss
def test_capture_goes_on_with_new_changes_when_told_to_accept(
    database: PostgresDatabase, name: str
) -> None:
    log = _before_and_after(database, name)
    with capturing(publish(database, on_gap=OnGap.ACCEPT), log) as capture:
        assert len(capture.settle()) == 2
        database.sql("INSERT INTO t VALUES (4, 'd')")
        assert [event.after for event in capture.until(3)][2:] == [{"id": 4, "v": "d"}]
    with capturing(publish(database), log) as capture:
        assert len(capture.settle()) == 3


def test_gap_is_noticed_when_the_log_is_removed_under_a_running_stream(
    database: PostgresDatabase,
) -> None:
    log = MemoryLog()
    with capturing(publish(database), log) as capture:
        capture.settle()
        for _ in range(2):
            _lose_log(database)
        with pytest.raises((TransientError, GapError)):
            capture.until(1)
    with pytest.raises(GapError), capturing(publish(database), log):
        pass
