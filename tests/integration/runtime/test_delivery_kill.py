"""INV-1, INV-3 with a real kill -9: a file behind a delivery loop holds every event once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, inserts, source_batch

EVENTS = 60

DELIVERER = """
import sys
from pathlib import Path
from headwater.deliver import DeadLetters
from headwater.errors import DataError
from headwater.format.headwater.json import JsonFormat
from headwater.log import SqliteLog
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime import DeliveryLoop, DeliveryPolicy, Subscription, SubscriptionPolicy
from headwater.sink import FileSink

class Picky(JsonFormat):
    def encode(self, batch):
        if 13 in batch.column("sequence_number").to_pylist():
            raise DataError("event-invalid", "thirteen")
        return super().encode(batch)

log, out, dead = map(Path, sys.argv[1:])
clock = SystemClock()
subscription = Subscription(
    SqliteLog(log).reader(),
    SqliteLog(log).cursor("file"),
    clock=clock,
    policy=SubscriptionPolicy(max_events=5),
)
loop = DeliveryLoop(
    subscription,
    FileSink(out, Picky()),
    clock=clock,
    metrics=NoMetrics(),
    policy=DeliveryPolicy(max_pending_events=12),
    dead_letters=DeadLetters(dead),
)
loop.drain()
loop.run()
"""

FAILPOINTS = [
    "delivery.before_write",
    "delivery.after_write",
    "delivery.before_ack",
    "delivery.after_ack",
    "log.cursor.before_commit",
    "log.cursor.after_commit",
    "sink.file.after_write",
    "sink.file.before_state",
    "sink.file.after_state",
    "deadletter.after_write",
]


def _run(paths: list[Path], failpoint: str = "") -> int:
    done = subprocess.run(
        [sys.executable, "-c", DELIVERER, *map(str, paths)],
        env={**os.environ, "HEADWATER_FAILPOINT": failpoint},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode


def _numbers(path: Path, *where: str) -> list[int]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for name in where:
        lines = [line[name] for line in lines]
    return lines


@pytest.mark.parametrize("point", FAILPOINTS)
def test_file_holds_every_event_once_when_the_process_is_killed_twice(
    tmp_path: Path, point: str
) -> None:
    log = SqliteLog.create(tmp_path / "events.hwlog")
    writer = log.writer(IDENTITY)
    for first in range(1, EVENTS, 3):
        writer.append(source_batch(inserts(first, 3, tx_id=first), first + 2))
    writer.close()
    out, dead = tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    paths = [log.path, out, dead]
    assert _run(paths, f"{point}=kill@1") == -signal.SIGKILL
    _run(paths, f"{point}=kill@2")
    assert _run(paths) == 0
    expected = [number for number in range(1, EVENTS + 1) if number != 13]
    assert _numbers(out, "after", "id") == expected
    assert _numbers(dead, "sequence_number") == [13]
    assert log.cursor("file").acked == EVENTS
