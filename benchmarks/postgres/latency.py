"""From commit to durable in the log, at a steady rate of single-row transactions."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np

from benchmarks.postgres.paths import MAX_EVENTS, opened
from headwater.contract import LogWriter
from headwater.source.postgres import PostgresSource
from tests.fix_postgres import PostgresDatabase

_TICK = """
import psycopg, sys, time
dsn, count, per_second = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with psycopg.connect(dsn, autocommit=True, prepare_threshold=1) as db:
    # Only what is in the server's log on disk is sent: else its writer's pauses are measured.
    db.execute("SET synchronous_commit = on")
    begin = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / per_second - time.perf_counter()))
        db.execute("INSERT INTO tick VALUES (%s, %s)", (number, time.time()))
"""
PER_SECOND = 1_000
SECONDS = 10


def latencies_ms(database: PostgresDatabase) -> tuple[float, float]:
    """The median and the 99th percentile."""
    database.sql("CREATE TABLE tick (id integer PRIMARY KEY, at double precision)")
    names = {"slot": "bench_latency", "publication": "bench_latency"}
    config = database.config("postgres", tables=("tick",), **names)
    count = PER_SECOND * SECONDS
    took: list[float] = []
    with opened(config, None) as (source, writer):
        _settle(source, writer)
        # A process of its own: a thread would wait for the interpreter that is being measured.
        ticking = subprocess.Popen(
            [sys.executable, "-c", _TICK, database.dsn("app"), str(count), str(PER_SECOND)]
        )
        while len(took) < count:
            batch = source.read(MAX_EVENTS, 1.0)
            if batch is None:
                continue
            writer.append(batch)
            now = time.time()
            if writer.position is not None:
                source.confirm(writer.position)
            images = batch.events.column("after").to_pylist()
            took += [now - json.loads(image)["at"] for image in images]
        ticking.wait()
    half, most = np.percentile(np.array(took) * 1000, [50, 99])
    return float(half), float(most)


def _settle(source: PostgresSource, writer: LogWriter) -> None:
    """Until the slot is made and the stream runs."""
    quiet = 0
    while quiet < 2:
        batch = source.read(MAX_EVENTS, 0.2)
        quiet = quiet + 1 if batch is None else 0
        if batch is not None:
            writer.append(batch)
        if writer.position is not None:
            source.confirm(writer.position)
