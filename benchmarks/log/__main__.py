"""make bench NAME=log."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Bench, timed
from benchmarks.rows import SOURCE_UID, customers
from headwater.contract import LogReader, SourceBatch, SourceIdentity
from headwater.event import EventBatch, Position
from headwater.log import SqliteLog, payload

IDENTITY = SourceIdentity("sqlite", SOURCE_UID)
# (events per commit, commits): enough commits for the write-ahead log to be folded back and begun
# again, which is how a log spends its life.
SIZES = ((64, 3000), (1024, 500), (5000, 120))


def append_to_log(folder: Path, batch: EventBatch, commits: int) -> None:
    """Append durably: encode, checksum, events and position in one transaction, fsync."""
    writer = SqliteLog(folder / "events.hwlog").writer(IDENTITY)
    for commit in range(commits):
        writer.append(SourceBatch(batch, Position({"change": commit})))
    writer.close()


def append_to_file(folder: Path, batch: EventBatch, commits: int) -> None:
    """The limit: the same encoding to the same bytes, written to a plain file and fsynced."""
    target = os.open(folder / "events.bin", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    for commit in range(commits):
        os.write(target, payload.encode(batch.with_sequence(commit * len(batch) + 1)))
        os.fsync(target)
    os.close(target)


def main() -> int:
    bench = Bench("log")
    for per_commit, commits in SIZES:
        batch = customers(1, per_commit)
        events = per_commit * commits

        def to_log(
            batch: EventBatch = batch, commits: int = commits, events: int = events
        ) -> float:
            with tempfile.TemporaryDirectory() as folder:
                return timed(events, lambda: append_to_log(Path(folder), batch, commits))

        def to_file(
            batch: EventBatch = batch, commits: int = commits, events: int = events
        ) -> float:
            with tempfile.TemporaryDirectory() as folder:
                return timed(events, lambda: append_to_file(Path(folder), batch, commits))

        ratio = bench.compare(
            f"append, {per_commit:,} events per commit", to_log, ("plain file + fsync", to_file)
        )
        bench.bar(f"append at {per_commit} against plain file + fsync", ratio, 0.6)
    for per_commit, commits in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            append_to_log(Path(folder), customers(1, per_commit), commits)
            reader = SqliteLog(Path(folder) / "events.hwlog").reader()

            def read(reader: LogReader = reader, events: int = per_commit * commits) -> float:
                return timed(events, lambda: sum(len(batch) for batch in reader.read(0)))

            bench.rate(f"read, {per_commit:,} events per commit", read)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
