"""Framing: how records stand one after another in a file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import assert_never

from headwater.errors import DataError

_LENGTH = struct.Struct(">I")


class Framing(StrEnum):
    """LINES ends each record with a newline; LENGTH puts four bytes of length, big-endian, first.

    LINES is for formats whose records have no newline in them, as compact JSON; LENGTH is for any.
    """

    LINES = "lines"
    LENGTH = "length"

    def frame(self, records: Sequence[bytes]) -> bytes:
        """The records as bytes of a file."""
        match self:
            case Framing.LINES:
                if any(b"\n" in record for record in records):
                    raise DataError("sink-record", "a record contains a newline")
                return b"".join(record + b"\n" for record in records)
            case Framing.LENGTH:
                return b"".join(_LENGTH.pack(len(record)) + record for record in records)
            case unreachable:
                assert_never(unreachable)

    def unframe(self, data: bytes) -> Iterator[bytes]:
        """The records of a file, for readers and tests."""
        if self is Framing.LINES:
            yield from data.split(b"\n")[:-1]
            return
        at = 0
        while at < len(data):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            yield data[at : at + length]
            at += length
