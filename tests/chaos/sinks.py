"""A sink that keeps nothing before it is flushed, and everything after: the harshest honest one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from headwater.contract import SinkCapabilities, WriteStatus
from headwater.errors import DataError
from headwater.event import EventBatch

POISON = 23


def is_poison(offset: str) -> bool:
    """Whether the sink refuses the event for ever, so that dead letters have to take it."""
    return offset.isdigit() and int(offset) % POISON == 0


class RecordingSink:
    """Whole events as JSON lines. What was accepted and not flushed is lost with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[bytes] = []

    @property
    def capabilities(self) -> SinkCapabilities:
        return SinkCapabilities(idempotent=False, ordered=True)

    def open(self) -> None:
        """What a killed process left of a line it never flushed goes, as with any file sink."""
        self._lines = []
        if self._path.exists():
            whole = self._path.read_bytes().rfind(b"\n") + 1
            os.truncate(self._path, whole)

    def write(self, batch: EventBatch) -> WriteStatus:
        rows = batch.records.to_pylist()
        if any(is_poison(row["offset"]) for row in rows):
            raise DataError("event-invalid", "the sink refuses this event")
        for row in rows:
            row["event_id"] = row["event_id"].hex()
            self._lines.append(json.dumps(row).encode() + b"\n")
        return WriteStatus.ACCEPTED

    def flush(self) -> None:
        descriptor = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, b"".join(self._lines))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._lines = []

    def close(self) -> None:
        self._lines = []
