"""Transactions that the server sends while they are still in progress, kept aside on disk.

They are larger than the server's decoding memory, they interleave, and they may yet be rolled back.
So their messages are written to files as they come and read back when the commit comes. Nothing
here outlives the process: after a crash the server sends the whole transaction again.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from headwater.failpoint import failpoint

Numbers = npt.NDArray[np.int64]
Run = tuple[bytes, Numbers, Numbers]
"""Messages: payload i is buffer[starts[i]:ends[i]]."""

_HEADER = struct.Struct("<QQ")  # messages, bytes
_ROLLED_BACK_WITH = frozenset(b"IUDTM")


@dataclass(slots=True)
class _Held:
    file: IO[bytes]
    aborted: set[int] = field(default_factory=set)


class Spool:
    """Runs of messages by transaction."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._held: dict[int, _Held] = {}

    def add(self, xid: int, buffer: bytes, starts: Numbers, ends: Numbers) -> None:
        """Keep messages of a transaction; they lie in `buffer` in order."""
        held = self._held.get(xid)
        if held is None:
            # Without a name: gone with the process, whatever ends it.
            held = _Held(tempfile.TemporaryFile(dir=self._directory))  # noqa: SIM115 - kept open
            self._held[xid] = held
        begin, end = int(starts[0]), int(ends[-1])
        held.file.write(_HEADER.pack(len(starts), end - begin))
        held.file.write((starts - begin).tobytes())
        held.file.write((ends - begin).tobytes())
        held.file.write(memoryview(buffer)[begin:end])
        failpoint("source.postgres.spooled")

    def abort(self, xid: int, subxid: int) -> None:
        """Forget a transaction, or a part of it that was rolled back to a savepoint."""
        held = self._held.get(xid)
        if held is None:
            return
        if subxid == xid:
            held.file.close()
            del self._held[xid]
        else:
            held.aborted.add(subxid)

    def take(self, xid: int) -> Iterator[Run]:
        """The messages of a committed transaction, run by run; then it is forgotten."""
        held = self._held.pop(xid, None)
        if held is None:
            return
        with held.file as file:
            file.seek(0)
            while header := file.read(_HEADER.size):
                count, size = _HEADER.unpack(header)
                starts = np.frombuffer(file.read(8 * count), np.int64)
                ends = np.frombuffer(file.read(8 * count), np.int64)
                buffer = file.read(size)
                kept = _kept(buffer, starts, held.aborted)
                yield buffer, starts[kept], ends[kept]

    def close(self) -> None:
        """Forget everything."""
        for held in self._held.values():
            held.file.close()
        self._held.clear()


def _kept(buffer: bytes, starts: Numbers, aborted: set[int]) -> npt.NDArray[np.bool_]:
    """Which messages were not rolled back. Shapes of tables stay: the server sends them once."""
    kept = np.ones(len(starts), np.bool_)
    if not aborted:
        return kept
    view = np.frombuffer(buffer, np.uint8)
    candidates = np.flatnonzero(np.isin(view[starts], list(_ROLLED_BACK_WITH)))
    places = starts[candidates][:, None] + np.arange(1, 5)
    xids = np.ascontiguousarray(view[places]).view(">u4").ravel()
    kept[candidates[np.isin(xids, list(aborted))]] = False
    return kept
