"""make bench NAME=postgres."""

from __future__ import annotations

import os
import sys

from benchmarks.harness import Bench
from benchmarks.postgres import paths
from benchmarks.postgres.latency import latencies_ms
from benchmarks.postgres.memory import peak_mb
from benchmarks.postgres.workload import TABLE, make_changes
from tests.fix_postgres import PostgresDatabase, PostgresServers

# Changes per transaction, changes, and the least ratio against pg_recvlogical.
BACKLOGS = ((100, 1_000_000, 1.3), (100_000, 1_000_000, 1.3), (1, 300_000, 1.0))
HUGE_ROWS = 5_000_000
SETTINGS = {"max_wal_size": "16GB", "checkpoint_timeout": "1h", "shared_buffers": "1GB"}
QUICK = os.environ.get("HEADWATER_BENCH_QUICK") == "1"


def backlog(bench: Bench, database: PostgresDatabase, size: int) -> None:
    """A backlog of changes, read by each path from its own copy of the slot."""
    per_transaction, changes, bar = BACKLOGS[size]
    changes = changes // 10 if QUICK else changes
    database.sql("DROP TABLE IF EXISTS bench")
    database.sql(TABLE)
    database.sql(
        "DROP PUBLICATION IF EXISTS headwater; CREATE PUBLICATION headwater FOR TABLE ONLY"
        " bench WITH (publish_via_partition_root = true)"
    )
    database.sql(
        "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", paths.BASE, user="postgres"
    )
    with database.connect() as db:
        make_changes(db, changes, per_transaction)
    ((until,),) = database.sql("SELECT pg_current_wal_lsn()::text", user="postgres")
    name = f"{changes:,} changes, {per_transaction:,} per transaction"
    ratio = bench.compare(
        f"{name}, into the log",
        lambda: paths.headwater_stream(database, changes),
        ("pg_recvlogical to nowhere", lambda: paths.recvlogical(database, until, changes)),
        rounds=3,
    )
    bench.bar(f"stream against pg_recvlogical at {per_transaction:,}", ratio, bar)
    bench.rate(
        f"psql COPY of peeked changes, {per_transaction:,} per transaction",
        lambda: paths.peek_copy(database, changes),
        rounds=1,
    )
    for slot in (paths.BASE, "bench_peer", "bench_ours"):
        database.sql("SELECT pg_drop_replication_slot(%s)", slot, user="postgres")


def snapshot(bench: Bench, database: PostgresDatabase) -> None:
    """A table of a million rows."""
    rows = 100_000 if QUICK else 1_000_000
    database.sql("TRUNCATE bench")
    with database.connect() as db:
        make_changes(db, rows * 5 // 2, 100_000)
    database.sql("VACUUM ANALYZE bench")
    ((count,),) = database.sql("SELECT count(*) FROM bench")
    ratio = bench.compare(
        "snapshot, rows into the log",
        lambda: paths.headwater_snapshot(database, count),
        ("psql COPY of the table", lambda: paths.table_copy(database, count)),
        rounds=3,
    )
    bench.bar("snapshot against psql COPY", ratio, 0.5)


def huge(bench: Bench, database: PostgresDatabase) -> None:
    """One transaction of five million rows."""
    rows = HUGE_ROWS // 10 if QUICK else HUGE_ROWS
    database.sql("TRUNCATE bench")
    database.sql(
        "SELECT pg_create_logical_replication_slot('bench_memory', 'pgoutput')", user="postgres"
    )
    ((lsn,),) = database.sql(
        "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots"
        " WHERE slot_name = 'bench_memory'",
        user="postgres",
    )
    with database.connect() as db:
        db.execute(
            "INSERT INTO bench (id, n, name) SELECT g, mod(g, 100), 'name ' || g"
            " FROM generate_series(1, %s::int) g",
            (rows,),
        )
    peak = peak_mb(database, lsn, rows)
    print(f"  a transaction of {rows:,} rows: {peak} MB resident")
    bench.bar(f"400 MB over the memory of a transaction of {rows:,} rows", 400 / peak, 1.0)


def main() -> int:
    bench = Bench("postgres")
    servers = PostgresServers()
    try:
        server = servers.start(SETTINGS, durable=True)
        server.configure({"synchronous_commit": "off"})
        server.restart()
        database = servers.database(server)
        for size in range(len(BACKLOGS)):
            backlog(bench, database, size)
        snapshot(bench, database)
        half, most = latencies_ms(database)
        print(f"  commit to durable at 1,000 changes/s: p50 {half:.1f} ms, p99 {most:.1f} ms")
        bench.bar("20 ms over the 99th percentile of latency", 20 / most, 1.0)
        huge(bench, database)
    finally:
        servers.close()
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
