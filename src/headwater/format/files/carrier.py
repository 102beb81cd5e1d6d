"""What a file of records gives and takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from headwater.contract import Format
from headwater.errors import DataError

# Of bytes that are no record, what is kept to show them.
KEPT_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Framed:
    """A record of the file: its number, counted from 1, and the byte where it begins."""

    number: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Broken:
    """A place of the file that gave no record: why, and what stands there, perhaps shortened."""

    number: int
    offset: int
    data: bytes
    error: DataError


Piece = Framed | Broken


@dataclass(frozen=True, slots=True)
class Reading:
    """A file being read: its pieces, and the format that their records have."""

    format: Format
    pieces: Iterator[Piece]


@dataclass(frozen=True, slots=True)
class Writing:
    """A file being written: it takes records of this format, in order."""

    format: Format
    put: Callable[[Sequence[bytes]], None]


class Carrier(Protocol):
    """One way to keep records in a file."""

    @property
    def unit(self) -> str:
        """What is counted: `line` or `record`."""
        ...

    def read(self, stream: BinaryIO, max_bytes: int) -> Reading:
        """Begin to read; a record longer than `max_bytes` is broken."""
        ...

    def write(self, stream: BinaryIO) -> Writing:
        """Begin to write."""
        ...


def too_long(size: str, max_bytes: int) -> DataError:
    """The error for a record beyond the limit."""
    return DataError("record-too-long", f"the record has {size}, the limit is {max_bytes:,}")
