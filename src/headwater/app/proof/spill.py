"""The source's rows as hashes, in a file of our own.

The source is read once, in one transaction, however often ranges are looked at afterwards. Rows go
to one of 256 parts by the first byte of their place; a part is written when enough has come, so the
file is a row of blocks and memory holds a few of them. The file has no name and goes with us.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from types import TracebackType
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from headwater.app.proof.encoding import HASH_BYTES, Encoder, Row
from headwater.app.proof.ranges import NOTHING, Entry, Summary
from headwater.errors import MachineError

_PART_DIGITS = 2  # 256 parts
_HELD_ROWS = 1 << 18
# Place, then hash; of both, words of 32 bits can be added up without overflow.
_ROW = np.dtype([("place", "V16"), ("hash", "V16")])
_WORDS = 4

Rows = npt.NDArray[np.void]


@dataclass(slots=True)
class _Part:
    """Rows of one part that wait to be written; their keys, one line each."""

    rows: bytearray = field(default_factory=bytearray)
    keys: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Block:
    """Where rows of one part are in the file, and the keys behind them."""

    offset: int
    rows_bytes: int
    keys_bytes: int


class Spill:
    """Takes a table's rows, then tells of their ranges. Implements ranges.Side."""

    def __init__(self, encoder: Encoder, held_rows: int = _HELD_ROWS) -> None:
        self._encoder = encoder
        self._held_rows = held_rows
        self._held = 0
        self._parts: dict[int, _Part] = defaultdict(_Part)
        self._blocks: dict[int, list[_Block]] = defaultdict(list)
        self._sums: dict[int, Summary] = {}
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="headwater-verify-")  # noqa: SIM115
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, row: Row) -> None:
        """Take a row."""
        encoder = self._encoder
        place = encoder.place(row)
        part = self._parts[place[0]]
        part.rows += place
        part.rows += encoder.hash(row)
        part.keys.append(encoder.name(row))
        self.rows += 1
        self._held += 1
        if self._held >= self._held_rows:
            self._write()

    def _write(self) -> None:
        try:
            for number, part in self._parts.items():
                keys = "\n".join(part.keys).encode("utf-8", "surrogatepass")
                offset = self._file.seek(0, 2)
                self._file.write(part.rows)
                self._file.write(keys)
                self._blocks[number].append(_Block(offset, len(part.rows), len(keys)))
                added = _summary(np.frombuffer(part.rows, _ROW))
                self._sums[number] = self._sums.get(number, NOTHING) + added
        except OSError as exc:
            raise MachineError(
                "verify-no-space",
                f"the hashes of {self.rows:,} rows cannot be kept: {exc.strerror}",
                where=tempfile.gettempdir(),
            ) from exc
        self._parts.clear()
        self._held = 0

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        """The ranges of so many digits."""
        if within is None and digits == _PART_DIGITS:
            self._write()
            return {f"{number:02x}": summary for number, summary in self._sums.items()}
        found: dict[str, Summary] = {}
        for rows, _ in self._read(within):
            names, which = np.unique(_prefixes(rows, digits), return_inverse=True)
            order = np.argsort(which, kind="stable")
            first = np.searchsorted(which[order], np.arange(len(names)))
            for name, some in zip(names, np.split(rows[order], first[1:]), strict=True):
                found[name.decode()] = _summary(some)
        return found

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        """The rows of these ranges; equal ones of a table without a key are counted."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for rows, keys in self._read(ranges):
            for row, key in zip(rows, keys, strict=True):
                counts[row["place"].tobytes().hex(), row["hash"].tobytes().hex(), key] += 1
        for (place, row_hash, key), count in counts.items():
            yield Entry(place, row_hash, key, count)

    def _read(self, ranges: Collection[str] | None) -> Iterator[tuple[Rows, list[str]]]:
        """The rows of each part that are in the ranges, with their keys."""
        self._write()
        wanted: dict[int, dict[int, set[bytes]]] = defaultdict(lambda: defaultdict(set))
        for each in ranges or ():
            wanted[int(each[:_PART_DIGITS], 16)][len(each)].add(each.encode())
        for number in sorted(self._blocks if ranges is None else wanted):
            rows, keys = self._part(number)
            if ranges is not None:
                mask = np.zeros(len(rows), bool)
                for length, names in wanted[number].items():
                    mask |= np.isin(_prefixes(rows, length), list(names))
                rows, keys = rows[mask], list(compress(keys, mask))
            if len(rows):
                yield rows, keys

    def _part(self, number: int) -> tuple[Rows, list[str]]:
        rows, keys = bytearray(), list[str]()
        for block in self._blocks.get(number, ()):
            self._file.seek(block.offset)
            rows += self._file.read(block.rows_bytes)
            text = self._file.read(block.keys_bytes).decode("utf-8", "surrogatepass")
            keys += text.split("\n")
        return np.frombuffer(rows, _ROW), keys


def _summary(rows: Rows) -> Summary:
    """Count and sum, by words of 32 bits."""
    words = np.ascontiguousarray(rows["hash"]).view(">u4").reshape(-1, _WORDS)
    total = 0
    for part in words.sum(axis=0, dtype=np.uint64):
        total = (total << 32) + int(part)
    return Summary(len(rows), total) + NOTHING


def _prefixes(rows: Rows, digits: int) -> npt.NDArray[np.bytes_]:
    """The first hexadecimal digits of each place."""
    octets = np.ascontiguousarray(rows["place"]).view(np.uint8).reshape(-1, HASH_BYTES)
    halves = np.empty((len(rows), HASH_BYTES * 2), np.uint8)
    halves[:, 0::2], halves[:, 1::2] = octets >> 4, octets & 15
    text = np.frombuffer(b"0123456789abcdef", np.uint8)[halves[:, :digits]]
    return np.ascontiguousarray(text).view(f"S{digits}").ravel()
