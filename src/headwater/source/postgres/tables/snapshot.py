"""The initial snapshot: every table as it was at the slot's first position, read in parallel.

The slot's creation exports the very snapshot at which its stream begins. So the rows and the stream
fit together without overlap or gap, and no chunk needs to be compared with the stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import psycopg
import pyarrow as pa

from headwater.failpoint import failpoint
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.names import literal
from headwater.source.postgres.server.connect import connect, translated
from headwater.source.postgres.tables.chunk import Chunk, read_images


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """A chunk and the images of its rows."""

    chunk: Chunk
    images: pa.Array


class ExportedSnapshot:
    """Reads chunks ahead with several connections, and hands them over in order."""

    def __init__(self, config: PostgresSourceConfig, name: str) -> None:
        self._connections: SimpleQueue[psycopg.Connection] = SimpleQueue()
        self._all = [_importing(config, name) for _ in range(config.snapshot_workers)]
        for connection in self._all:
            self._connections.put(connection)
        self._pool = ThreadPoolExecutor(config.snapshot_workers, "headwater-postgres-snapshot")
        self._ahead: deque[Future[ChunkRows]] = deque()
        self._chunks: Iterator[Chunk] = iter(())
        self._window = config.snapshot_workers * 2

    @property
    def connection(self) -> psycopg.Connection:
        """A connection inside the snapshot, while no chunk is being read."""
        return self._all[0]

    def begin(self, chunks: Iterable[Chunk]) -> None:
        """Start reading these chunks."""
        self._chunks = iter(chunks)
        self._fill()

    def next(self) -> ChunkRows | None:
        """The next chunk, in order; None after the last."""
        if not self._ahead:
            return None
        rows = self._ahead.popleft().result()
        self._fill()
        return rows

    def _fill(self) -> None:
        while len(self._ahead) < self._window:
            chunk = next(self._chunks, None)
            if chunk is None:
                return
            self._ahead.append(self._pool.submit(self._read, chunk))

    def _read(self, chunk: Chunk) -> ChunkRows:
        connection = self._connections.get()
        try:
            with translated(str(chunk.unit.stored.table)):
                images = read_images(connection, chunk)
            failpoint("source.postgres.chunk_read")
            return ChunkRows(chunk, images)
        finally:
            self._connections.put(connection)

    def close(self) -> None:
        """Give the snapshot up. Safe to call twice."""
        for waiting in self._ahead:
            waiting.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for connection in self._all:
            connection.close()


def _importing(config: PostgresSourceConfig, name: str) -> psycopg.Connection:
    connection = connect(config, "snapshot")
    with translated():
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(f"SET TRANSACTION SNAPSHOT {literal(name)}")
    return connection
