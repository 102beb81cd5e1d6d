"""A file of records in one format to a file of records in another, of any size, in little memory.

Records that cannot be read or written are set aside with their place and the reason; the others go
on. The new file takes its name when it is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from headwater.app.aside import Aside
from headwater.app.carriers import carrier_of
from headwater.app.chosen import ChosenVersions
from headwater.app.registry import open_log
from headwater.errors import ConfigError, DataError, MachineError
from headwater.files import replacing

if TYPE_CHECKING:
    from headwater.contract import Format, SchemaHistory
    from headwater.format.files.carrier import Carrier, Framed, Piece, Writing

MAX_RECORD_BYTES = 64 << 20
_CHUNK_RECORDS, _CHUNK_BYTES = 1_000, 8 << 20

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What to convert. No path is standard input or output.

    `schemas` is the log that knows the tables, for formats that write typed rows; `schema_ids` are
    versions to write tables by, where not by the newest.
    """

    read_format: str
    write_format: str
    source: Path | None
    target: Path | None
    aside: Path
    read_framing: str | None = None
    write_framing: str | None = None
    max_record_bytes: int = MAX_RECORD_BYTES
    strict: bool = False
    schemas: Path | None = None
    schema_ids: tuple[int, ...] = ()

    @property
    def source_name(self) -> str:
        """The source for people."""
        return "standard input" if self.source is None else str(self.source)


def convert(asked: Conversion, progress: Progress) -> dict[str, Any]:
    """Do it; `progress` is told how many bytes are behind. Strict: the first bad record raises."""
    with ExitStack() as stack:
        schemas = stack.enter_context(_history(asked.schemas))
        reader = carrier_of(asked.read_format, asked.read_framing, schemas)
        writer = carrier_of(asked.write_format, asked.write_framing, schemas)
        source = stack.enter_context(_reading(asked.source))
        target = stack.enter_context(_writing(asked.target))
        aside = stack.enter_context(Aside(asked.aside, reader.unit))
        chosen = ChosenVersions(schemas, asked.schema_ids)
        loop = _Loop(asked, aside, reader, writer.write(target), chosen)
        loop.run(source, progress)
        target.flush()
    return {
        "source": asked.source_name,
        "target": "standard output" if asked.target is None else str(asked.target),
        "from": asked.read_format,
        "to": asked.write_format,
        "records": loop.records,
        "bad": aside.count,
        "bad_file": str(asked.aside) if aside.count else None,
    }


class _Loop:
    """Chunks of records through the canonical event."""

    def __init__(
        self,
        asked: Conversion,
        aside: Aside,
        reader: Carrier,
        writing: Writing,
        chosen: ChosenVersions,
    ) -> None:
        self._asked = asked
        self._aside = aside
        self._reader = reader
        self._chosen = chosen
        self._writing = writing
        self.records = 0

    def run(self, source: BinaryIO, progress: Progress) -> None:
        """Read everything."""
        try:
            reading = self._reader.read(source, self._asked.max_record_bytes)
        except ConfigError as exc:
            raise ConfigError(exc.code, exc.message, where=self._asked.source_name) from exc
        for chunk in _chunks(reading.pieces):
            records = self._converted(reading.format, chunk)
            self._writing.put(records)
            self.records += len(records)
            progress(chunk[-1].offset + len(chunk[-1].data))

    def _converted(self, read: Format, chunk: list[Piece]) -> list[bytes]:
        """The records of the chunk; it is halved around those that are bad."""
        try:
            events = self._chosen(read.decode(_data(chunk)))
            return list(self._writing.format.encode(events))
        except DataError as exc:
            if len(chunk) == 1:
                self._set_aside(chunk[0], exc)
                return []
        middle = len(chunk) // 2
        return self._converted(read, chunk[:middle]) + self._converted(read, chunk[middle:])

    def _set_aside(self, piece: Piece, error: DataError) -> None:
        if self._asked.strict:
            place = f"{self._asked.source_name}: {self._reader.unit} {piece.number:,}"
            where = f"{place}, byte {piece.offset:,}"
            raise DataError(error.code, error.message, where=where) from error
        self._aside.add(piece, error)


def _chunks(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    chunk: list[Piece] = []
    size = 0
    for piece in pieces:
        chunk.append(piece)
        size += len(piece.data)
        if len(chunk) == _CHUNK_RECORDS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _data(chunk: list[Piece]) -> Iterator[bytes]:
    return (_whole(piece).data for piece in chunk)


def _whole(piece: Piece) -> Framed:
    from headwater.format.files.carrier import Broken

    if isinstance(piece, Broken):
        raise piece.error
    return piece


@contextmanager
def _history(path: Path | None) -> Iterator[SchemaHistory | None]:
    if path is None:
        yield None
        return
    reader = open_log(path).reader()
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def _reading(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as exc:
        raise MachineError("file-unreadable", str(exc.strerror), where=str(path)) from exc
    with file:
        yield file


@contextmanager
def _writing(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        return
    if path.exists() and not path.is_file():
        raise MachineError(
            "file-unwritable", "it is no plain file; - writes to standard output", where=str(path)
        )
    try:
        with replacing(path) as file:
            yield file
    except OSError as exc:
        raise MachineError("file-unwritable", str(exc), where=str(path)) from exc
