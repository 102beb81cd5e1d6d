"""Records behind their length: as a varint, which Protobuf's tools call delimited, or in 4 bytes.

A length that is cut or impossible leaves nothing to find the next record by: reading ends there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

from headwater.contract import Format
from headwater.errors import DataError
from headwater.format.files.carrier import (
    KEPT_BYTES,
    Broken,
    Framed,
    Piece,
    Reading,
    Writing,
    too_long,
)
from headwater.format.files.varint import take_varint, varint
from headwater.format.files.window import Window

_UINT32 = struct.Struct(">I")


def _take_uint32(window: Window) -> int | None:
    head = window.take(_UINT32.size)
    if not head:
        return None
    if len(head) < _UINT32.size:
        raise DataError("record-truncated", "the file ends inside the length of a record")
    return int(_UINT32.unpack(head)[0])


class Prefix(Enum):
    """How a length is written."""

    VARINT = "delimited"
    UINT32 = "length"

    @property
    def take(self) -> Callable[[Window], int | None]:
        """Reads a length; None at the end of the file."""
        return take_varint if self is Prefix.VARINT else _take_uint32

    @property
    def put(self) -> Callable[[int], bytes]:
        """A length in bytes."""
        return varint if self is Prefix.VARINT else _UINT32.pack


@dataclass(frozen=True, slots=True)
class Prefixed:
    """Records of any format, each behind its length."""

    format: Format
    prefix: Prefix = Prefix.VARINT

    @property
    def unit(self) -> str:
        """Records are counted."""
        return "record"

    def read(self, stream: BinaryIO, max_bytes: int) -> Reading:
        """The records of the stream."""
        return Reading(self.format, _records(Window(stream), self.prefix, max_bytes))

    def write(self, stream: BinaryIO) -> Writing:
        """Each record behind its length."""

        def put(records: Sequence[bytes]) -> None:
            stream.writelines(self.prefix.put(len(record)) + record for record in records)

        return Writing(self.format, put)


def _records(window: Window, prefix: Prefix, max_bytes: int) -> Iterator[Piece]:
    number = 0
    while True:
        number, start = number + 1, window.offset
        try:
            length = prefix.take(window)
        except DataError as error:
            yield Broken(number, start, window.take(KEPT_BYTES), error)
            return
        if length is None:
            return
        data = window.take(length if length <= max_bytes else min(length, KEPT_BYTES))
        found = len(data) + window.skip(length - len(data))
        if found < length:
            reason = f"the file ends after {found:,} of the record's {length:,} bytes"
            cut = DataError("record-truncated", reason)
            yield Broken(number, start, data[:KEPT_BYTES], cut)
        elif length > max_bytes:
            yield Broken(number, start, data, too_long(f"{length:,} bytes", max_bytes))
        else:
            yield Framed(number, start, data)
