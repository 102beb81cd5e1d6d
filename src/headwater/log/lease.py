"""One writer at a time. The operating system's lock goes with the process, even on kill -9."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from headwater.errors import FencedError, MachineError


class Lease:
    """An exclusive lock beside the log. The lock file says who holds it, for people."""

    def __init__(self, log_path: Path) -> None:
        self._path = log_path.with_name(f"{log_path.name}.lock")
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock now or refuse: waiting would hide a second capture process."""
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as exc:
            raise MachineError("log-read-only", str(exc), where=str(self._path)) from exc
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(descriptor)
            raise FencedError(
                "log-locked", f"the log is being written by {self._holder()}", where=str(self._path)
            ) from exc
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since_ms": _now_ms()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock up. The file stays: removing it would race with the next owner."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)  # this process may live on, but writes no more
            os.close(self._descriptor)
            self._descriptor = None

    def _holder(self) -> str:
        try:
            owner = json.loads(self._path.read_text())
            return f"process {owner['pid']} on {owner['host']}"
        except (OSError, ValueError, KeyError):
            return "another process"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
