"""The parts of an Avro object container file: a header, and blocks that each end with its marker.

A block that cannot be read ends at the next marker, and reading goes on behind it.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headwater.errors import ConfigError, DataError
from headwater.format.files.carrier import KEPT_BYTES
from headwater.format.files.varint import long, take_long
from headwater.format.files.window import Window

MAX_BLOCK_BYTES = 64 << 20
_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MAX_HEADER_BYTES = 1 << 20
_RAW_DEFLATE = -15


@dataclass(frozen=True, slots=True)
class Header:
    """What the blocks of a file have in common."""

    schema: Any
    codec: str = "deflate"
    sync: bytes = field(default_factory=lambda: os.urandom(_SYNC_BYTES))

    def encode(self) -> bytes:
        """The first bytes of a file."""
        schema = json.dumps(self.schema, separators=(",", ":"))
        said = {"avro.schema": schema, "avro.codec": self.codec}
        pairs = b"".join(_text(name) + _text(value) for name, value in said.items())
        return _MAGIC + long(len(said)) + pairs + long(0) + self.sync

    def block(self, count: int, data: bytes) -> bytes:
        """A block of this many datums."""
        packed = _deflate(data) if self.codec == "deflate" else data
        return long(count) + long(len(packed)) + packed + self.sync


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a file: what it holds, or why that cannot be told."""

    number: int
    offset: int
    count: int
    data: bytes
    error: DataError | None = None


def read_header(window: Window) -> Header:
    """The header; a ConfigError if this is no container file, or not one that can be read."""
    if window.take(len(_MAGIC)) != _MAGIC:
        raise _no_file("it does not begin with the letters Obj")
    try:
        said = _read_map(window)
        header = Header(
            schema=json.loads(said["avro.schema"]),
            codec=said.get("avro.codec", b"null").decode(),
            sync=window.take(_SYNC_BYTES),
        )
    except (DataError, KeyError, ValueError, RecursionError) as exc:
        raise _no_file("its header cannot be read") from exc
    if len(header.sync) < _SYNC_BYTES:
        raise _no_file("it ends inside the header")
    if header.codec not in {"null", "deflate"}:
        raise ConfigError("avro-codec", f"the blocks are packed with {header.codec!r}")
    return header


def read_blocks(window: Window, header: Header) -> Iterator[Block]:
    """The blocks, unpacked, and in the place of a broken one the error."""
    number = 0
    while True:
        number, start = number + 1, window.offset
        try:
            head = _block_head(window)
            if head is None:
                return
        except DataError as error:
            yield Block(number, start, 0, b"", error)
            window.skip_past(header.sync)
            continue
        count, size = head
        packed = window.take(size)
        marker = window.take(_SYNC_BYTES)
        if marker == header.sync:
            yield _unpacked(Block(number, start, count, packed), header.codec)
            continue
        # Its length may be what is wrong, so the next block may lie in what was taken.
        window.give_back(packed + marker)
        whole = len(marker) == _SYNC_BYTES
        yield Block(number, start, count, packed[:KEPT_BYTES], _unended(whole=whole))
        window.skip_past(header.sync)


def _block_head(window: Window) -> tuple[int, int] | None:
    count = take_long(window)
    if count is None:
        return None
    size = take_long(window)
    if size is None:
        raise DataError("record-truncated", "the file ends inside a block")
    if count < 0 or not 0 <= size <= MAX_BLOCK_BYTES:
        raise DataError("avro-block", f"a block says that it has {count:,} datums, {size:,} bytes")
    return count, size


def _unended(*, whole: bool) -> DataError:
    if whole:
        return DataError("avro-block", "the block does not end with the file's marker")
    return DataError("record-truncated", "the file ends inside a block")


def _unpacked(block: Block, codec: str) -> Block:
    if codec == "null":
        return block
    unpacker = zlib.decompressobj(_RAW_DEFLATE)
    try:
        data = unpacker.decompress(block.data, MAX_BLOCK_BYTES)
        if not unpacker.eof:
            raise DataError("avro-block", "the block is cut, or too long when it is unpacked")
    except (zlib.error, DataError) as exc:
        error = DataError("avro-block", f"the block cannot be unpacked: {exc}")
        return Block(block.number, block.offset, block.count, block.data[:KEPT_BYTES], error)
    return Block(block.number, block.offset, block.count, data)


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=_RAW_DEFLATE)
    return packer.compress(data) + packer.flush()


def _read_map(window: Window) -> dict[str, bytes]:
    said: dict[str, bytes] = {}
    while count := take_long(window):
        if count < 0:  # a size in bytes follows, for readers that skip
            take_long(window)
        for _ in range(abs(count)):
            name = _take_bytes(window).decode()
            said[name] = _take_bytes(window)
    return said


def _take_bytes(window: Window) -> bytes:
    size = take_long(window)
    if size is None or not 0 <= size <= _MAX_HEADER_BYTES - window.offset:
        raise DataError("avro-block", "the header is cut or too long")
    return window.take(size)


def _text(value: str) -> bytes:
    data = value.encode()
    return long(len(data)) + data


def _no_file(reason: str) -> ConfigError:
    return ConfigError("avro-file", f"this is no Avro object container file: {reason}")
