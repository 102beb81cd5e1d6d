"""Dead letters: records that a sink can never take, kept for people before the cursor passes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

from headwater.errors import DataError, MachineError
from headwater.event import EventBatch, decode_row
from headwater.failpoint import failpoint
from headwater.files import sync_directory

_TAIL_BYTES = 1 << 16


class DeadLetters:
    """A JSONL file, one object per event: sequence, code, reason and the whole event.

    Delivery: a line is on disk before `put` returns. After a crash a torn last line is cut off, and
    an event that is there already is not written again: each event stands in the file once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._last_sequence = 0

    def open(self) -> None:
        """Open or create the file, readable by its owner only."""
        try:
            self._file = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
            self._last_sequence = _recover(self._file)
            sync_directory(self.path.parent)
        except OSError as exc:
            raise _refused(self.path, exc) from exc

    def put(self, batch: EventBatch, error: DataError) -> bool:
        """Keep the one event of `batch`, durably; False if it was kept before."""
        if self._file is None:
            self.open()
        if batch.first_sequence <= self._last_sequence:
            return False
        line = json.dumps(_letter(batch, error), ensure_ascii=False, separators=(",", ":")) + "\n"
        try:
            _write_all(self._file, line.encode())
        except OSError as exc:
            raise _refused(self.path, exc) from exc
        failpoint("deadletter.after_write")
        self._last_sequence = batch.first_sequence
        return True

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _write_all(descriptor: int | None, data: bytes) -> None:
    assert descriptor is not None  # noqa: S101 - `put` has opened it
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def _recover(descriptor: int) -> int:
    """Cut a torn last line off; the sequence number of the last whole one, or 0."""
    size = os.fstat(descriptor).st_size
    window = min(size, _TAIL_BYTES)
    while True:
        tail = os.pread(descriptor, window, size - window)
        end = tail.rfind(b"\n")
        start = tail.rfind(b"\n", 0, max(end, 0))
        if start >= 0 or window == size:
            break
        window = min(size, window * 2)
    os.ftruncate(descriptor, size - window + end + 1)
    if end < 0:
        return 0
    return int(json.loads(tail[start + 1 : end])["sequence_number"])


def _letter(batch: EventBatch, error: DataError) -> dict[str, Any]:
    row: dict[str, Any] = batch.records.to_pylist()[0]
    row["event_id"] = str(UUID(bytes=row["event_id"]))
    for image in ("before", "after", "context"):
        row[image] = _parsed(row[image])
    return {
        "sequence_number": batch.first_sequence,
        "code": error.code,
        "reason": error.message,
        "where": error.where,
        "event": row,
    }


def _parsed(text: str | None) -> object:
    """JSON where it is JSON: the image may be the very thing that is broken."""
    if text is None:
        return None
    try:
        return decode_row(text)
    except (ValueError, DataError):
        return text


def _refused(path: Path, exc: OSError) -> MachineError:
    return MachineError("dead-letter-file", f"cannot keep dead letters: {exc}", where=str(path))
