"""JSON on lines: one record each. Lines without anything on them are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from headwater.contract import Format
from headwater.format.files.carrier import KEPT_BYTES, Broken, Framed, Piece, Reading, Writing
from headwater.format.files.carrier import too_long as beyond

_STEP = 64 << 10


@dataclass(frozen=True, slots=True)
class Lines:
    """Records of a JSON format, each on its line."""

    format: Format

    @property
    def unit(self) -> str:
        """Lines are counted, empty ones too: an editor finds them by their number."""
        return "line"

    def read(self, stream: BinaryIO, max_bytes: int) -> Reading:
        """The lines of the stream."""
        return Reading(self.format, _lines(stream, max_bytes))

    def write(self, stream: BinaryIO) -> Writing:
        """Lines, each with its end."""

        def put(records: Sequence[bytes]) -> None:
            stream.writelines(record + b"\n" for record in records)

        return Writing(self.format, put)


def _lines(stream: BinaryIO, max_bytes: int) -> Iterator[Piece]:
    number = offset = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        start, offset = offset, offset + len(line)
        if len(line) > max_bytes and not line.endswith(b"\n"):
            offset += _rest_of_line(stream)
            error = beyond(f"{offset - start:,} bytes", max_bytes)
            yield Broken(number, start, line[:KEPT_BYTES], error)
        elif not line.isspace():
            yield Framed(number, start, line.rstrip(b"\r\n"))


def _rest_of_line(stream: BinaryIO) -> int:
    skipped = 0
    while part := stream.readline(_STEP):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped
