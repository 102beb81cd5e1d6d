"""Whether a stream runs: each holds a lock beside the log, which goes with its process.

Streams share the lock, so that a driver which took over from a frozen one is not held up; making a
checkpoint anew wants it alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from headwater.errors import MachineError, StateError


class Presence:
    """The lock of a consumer's streams."""

    def __init__(self, log_path: Path, consumer: str) -> None:
        self._path = log_path.with_name(f"{log_path.name}.{quote(consumer, safe='')}.stream")
        self._descriptor: int | None = None

    def hold(self) -> None:
        """Be seen, until `release` or the end of the process."""
        self._descriptor = self._open()
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """Be seen no longer. Safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse if a stream runs; one that starts meanwhile waits for the end of the block."""
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(descriptor)
            raise StateError(
                "spark-stream-running", "a stream of this consumer runs", where=str(self._path)
            ) from exc
        try:
            yield
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as exc:
            raise MachineError("log-read-only", str(exc), where=str(self._path)) from exc
