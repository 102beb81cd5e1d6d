"""The ways to read a slot or a table, each as one timed run."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.contract import LogWriter
from headwater.log import SqliteLog
from headwater.source.postgres import PostgresSource, PostgresSourceConfig
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.place import Place
from headwater.source.postgres.roll import Roll
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.connect import connect
from tests.fix_postgres import PostgresDatabase

BASE = "bench_base"
MAX_EVENTS = 5_000


def copy_of_slot(database: PostgresDatabase, name: str) -> int:
    """A fresh slot that holds the same backlog; returns where it begins."""
    database.sql(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
        name,
        user="postgres",
    )
    database.sql("SELECT pg_copy_logical_replication_slot(%s, %s)", BASE, name, user="postgres")
    ((lsn,),) = database.sql(
        "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s",
        name,
        user="postgres",
    )
    return parse_lsn(lsn)


def recvlogical(database: PostgresDatabase, until: str, changes: int) -> float:
    """The server's own client, to nowhere."""
    copy_of_slot(database, "bench_peer")
    command = [
        *(str(database.server.binaries / "pg_recvlogical"), "-d", database.dsn("postgres")),
        *("-S", "bench_peer", "--start", "-f", "/dev/null", "-E", until),
        *("-o", "proto_version=1", "-o", "publication_names=headwater"),
    ]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return changes / (time.perf_counter() - begin)


def peek_copy(database: PostgresDatabase, changes: int) -> float:
    """One COPY of everything that the slot holds, to nowhere."""
    copy_of_slot(database, "bench_peer")
    query = (
        "SELECT lsn, xid, data FROM pg_logical_slot_peek_binary_changes('bench_peer', NULL, NULL,"
        " 'proto_version', '1', 'publication_names', 'headwater')"
    )
    return changes / _psql(database, f"COPY ({query}) TO STDOUT (FORMAT binary)")


def table_copy(database: PostgresDatabase, rows: int) -> float:
    """Psql's COPY of the table, to nowhere."""
    return rows / _psql(database, "COPY bench TO STDOUT")


def _psql(database: PostgresDatabase, command: str) -> float:
    psql = str(database.server.binaries / "psql")
    begin = time.perf_counter()
    subprocess.run(
        [psql, database.dsn("postgres"), "-q", "-c", command],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - begin


@contextmanager
def opened(
    config: PostgresSourceConfig, lsn: int | None
) -> Iterator[tuple[PostgresSource, LogWriter]]:
    """A source and a durable log, at a position or at the very beginning."""
    source = PostgresSource(config)
    with tempfile.TemporaryDirectory() as folder:
        writer = SqliteLog(Path(folder) / "bench.hwlog").writer(source.identity)
        system = source.identity.uid.partition("/")[0]
        resume = (
            None if lsn is None else _known(config, Place(system, 1, config.slot, lsn)).encode()
        )
        try:
            source.open(resume)
            yield source, writer
        finally:
            source.close()
            writer.close()


def _known(config: PostgresSourceConfig, place: Place) -> Place:
    """The place of a log that has the table's rows already."""
    with connect(config, "bench") as connection:
        roll = Roll(connection, config)
        roll.enter(read_tables(connection, config))
        return roll.marked(place)


def drain(source: PostgresSource, writer: LogWriter, events: int) -> None:
    """Read, append durably and confirm until the log has so many events."""
    while writer.head < events:
        batch = source.read(MAX_EVENTS, 10.0)
        if batch is None:
            continue
        writer.append(batch)
        if batch.events.closes_transaction and writer.position is not None:
            source.confirm(writer.position)


def headwater_stream(database: PostgresDatabase, changes: int) -> float:
    """The backlog into the durable log."""
    config = database.config("postgres", slot="bench_ours", tables=("bench",))
    lsn = copy_of_slot(database, config.slot)
    with opened(config, lsn) as (source, writer):
        begin = time.perf_counter()
        drain(source, writer, changes)
        return changes / (time.perf_counter() - begin)


def headwater_snapshot(database: PostgresDatabase, rows: int) -> float:
    """The table into the durable log, by the first load."""
    config = database.config("postgres", slot="bench_snapshot", tables=("bench",))
    with opened(config, None) as (source, writer):
        begin = time.perf_counter()
        drain(source, writer, rows)
        rate = rows / (time.perf_counter() - begin)
    database.sql("SELECT pg_drop_replication_slot('bench_snapshot')", user="postgres")
    return rate
