"""Resident memory of a process that captures one huge transaction."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.fix_postgres import PostgresDatabase

_CHILD = """
import sys
from pathlib import Path
from benchmarks.postgres.paths import drain, opened
from headwater.secret import Secret
from headwater.source.postgres import PostgresSourceConfig
dsn, lsn, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
config = PostgresSourceConfig(dsn=Secret(dsn), slot="bench_memory", tables=("bench",))
with opened(config, lsn) as (source, writer):
    drain(source, writer, rows)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


def peak_mb(database: PostgresDatabase, lsn: int, rows: int) -> int:
    """The most that the capturing process ever held, in MB.

    Not what getrusage says: a process inherits that figure from the one that started it.
    """
    command = [sys.executable, "-c", _CHILD, database.dsn("postgres"), str(lsn), str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return int(done.stdout)
