"""Scratch: columns and numbers that outgrow memory, in files without a name.

Nothing here outlives the process, whatever ends it: everything can be worked out again.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import MachineError
from headwater.failpoint import failpoint
from headwater.format.cdcformat.members import Places

Space = Callable[[int, Any], npt.NDArray[Any]]
"""Makes an array of zeros of a length and type."""
Reduce = Callable[[pa.RecordBatch], pa.RecordBatch]

_CHUNK_BYTES = 4 << 20  # what is worked on at once
_ARRAYS = 8  # that one transaction needs at a time, more or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """How much memory a transaction in passes may use, and where the rest goes.

    `directory` should be a disk: where it is None the system's own place may be memory.
    """

    max_bytes: int = 64 << 20
    directory: Path | None = None


class Scratch:
    """The bins and arrays of one transaction. Closing gives everything back."""

    def __init__(self, workspace: Workspace) -> None:
        self.max_bytes = workspace.max_bytes
        self.chunk_bytes = min(workspace.max_bytes, _CHUNK_BYTES)
        self._directory = workspace.directory
        self._bins: list[Bins] = []

    def bins(self, schema: pa.Schema) -> Bins:
        """New bins for record batches of this schema."""
        made = Bins(self, schema)
        self._bins.append(made)
        return made

    def array(self, count: int, kind: Any) -> npt.NDArray[Any]:
        """Zeros: in memory, or where they are many in a file that is mapped."""
        size = count * np.dtype(kind).itemsize
        if size <= self.max_bytes // _ARRAYS:
            return np.zeros(count, kind)
        with self.refusing(), self.file() as file:
            # Reserved at once: a page that finds no room later would kill the process.
            os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, kind, "r+", shape=(count,))

    def file(self) -> IO[bytes]:
        """A file without a name: it is gone with the process, whatever ends it."""
        return tempfile.TemporaryFile(dir=self._directory)

    def make_room(self) -> None:
        """Write what the bins hold, if it is more than may be held."""
        if sum(each.held_bytes for each in self._bins) > self.max_bytes:
            for each in self._bins:
                each.flush()
            failpoint("scratch.after_flush")

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Errors of files, as ours."""
        try:
            yield
        except OSError as exc:
            where = str(self._directory or tempfile.gettempdir())
            raise MachineError("scratch-io", str(exc), where=where) from exc

    def close(self) -> None:
        """Forget everything. Safe to call twice."""
        for each in self._bins:
            each.close()


class Bins:
    """Record batches in numbered bins; within a bin in the order in which they came."""

    def __init__(self, scratch: Scratch, schema: pa.Schema) -> None:
        self._scratch = scratch
        self._schema = schema
        self._held: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._written: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._file: IO[bytes] | None = None
        self._size = 0
        self.held_bytes = 0

    def put(self, number: int, batch: pa.RecordBatch) -> None:
        """Into one bin."""
        self._held[number].append(batch)
        self.held_bytes += batch.nbytes
        self._scratch.make_room()

    def scatter(self, numbers: Places, batch: pa.RecordBatch) -> None:
        """Each row into its own bin."""
        if not len(batch):
            return
        order = np.argsort(numbers, kind="stable")
        numbers, batch = numbers[order], batch.take(pa.array(order))
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            self._held[int(numbers[start])].append(batch.slice(start, end - start))
        self.held_bytes += batch.nbytes
        self._scratch.make_room()

    def numbers(self) -> list[int]:
        """The bins that are not empty, in order."""
        return sorted(self._held.keys() | self._written.keys())

    def read(self, number: int) -> Iterator[pa.RecordBatch]:
        """What is in the bin, in pieces of a size to work on."""
        for offset, size in self._written.get(number, ()):
            with self._scratch.refusing():
                assert self._file is not None  # noqa: S101 - something was written
                self._file.seek(offset)
                data = self._file.read(size)
            yield pa.ipc.read_record_batch(pa.py_buffer(data), self._schema)
        yield from self._chunks(self._held.get(number, []))

    def gather(self, number: int, reduce: Reduce) -> pa.RecordBatch:
        """All of a bin as one, made smaller on the way: reducing in steps must be reducing all."""
        known = pa.RecordBatch.from_pylist([], schema=self._schema)
        waiting: list[pa.RecordBatch] = []
        size = 0
        for piece in self.read(number):
            waiting.append(piece)
            size += piece.nbytes
            # As much as there is already: otherwise every piece would cost as much as the whole.
            if size > max(known.nbytes, self._scratch.chunk_bytes):
                known, waiting, size = reduce(pa.concat_batches([known, *waiting])), [], 0
        return reduce(pa.concat_batches([known, *waiting])) if waiting else known

    def flush(self) -> None:
        """Write everything that is in memory."""
        with self._scratch.refusing():
            if self._file is None and self._held:
                self._file = self._scratch.file()
            for number, held in self._held.items():
                for chunk in self._chunks(held):
                    self._write(number, chunk.serialize())
        self._held.clear()
        self.held_bytes = 0

    def _write(self, number: int, data: pa.Buffer) -> None:
        assert self._file is not None  # noqa: S101 - `flush` made it
        self._file.seek(self._size)
        self._file.write(data)
        self._written[number].append((self._size, data.size))
        self._size += data.size

    def close(self) -> None:
        """Forget everything. Safe to call twice."""
        self._held.clear()
        self._written.clear()
        self.held_bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _chunks(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not batches:
            return
        whole = pa.concat_batches(batches)
        rows = max(1, len(whole) * self._scratch.chunk_bytes // max(whole.nbytes, 1))
        for start in range(0, len(whole), rows):
            yield whole.slice(start, rows)
