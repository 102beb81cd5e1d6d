"""The bytes before a record: a zero, the schema's id, and for Protobuf the path to the message.

The path is a list of indexes, outermost message first, as zigzag varints after their number; the
usual path, the first message of the file, is a single zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.format.files.varint import long

_MAGIC = b"\0"
_HEAD_BYTES = 5
_MAX_DEPTH = 32
_MAX_VARINT_BYTES = 5


def head(schema_id: int) -> bytes:
    """The five bytes that name a schema."""
    return _MAGIC + schema_id.to_bytes(4, "big")


def split(record: bytes) -> tuple[int, bytes]:
    """The schema's id, and what follows it. ValueError if there is no frame."""
    if len(record) < _HEAD_BYTES or record[:1] != _MAGIC:
        raise ValueError("no frame of a schema registry: a zero byte and four bytes of id")
    schema_id = int.from_bytes(record[1:_HEAD_BYTES], "big", signed=True)
    if schema_id < 0:  # registries count in signed numbers
        raise ValueError(f"no frame of a schema registry: the id {schema_id}")
    return schema_id, record[_HEAD_BYTES:]


def path_bytes(path: Sequence[int]) -> bytes:
    """The path to a message of a .proto file."""
    if list(path) == [0]:
        return b"\0"
    return b"".join(map(long, (len(path), *path)))


def split_path(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The path to the message, and the message. ValueError if there is no path."""
    count, place = _read_varint(data, 0)
    if not 0 <= count <= _MAX_DEPTH:
        raise ValueError(f"a path of {count} message indexes")
    path = []
    for _ in range(count):
        index, place = _read_varint(data, place)
        path.append(index)
    return tuple(path) or (0,), data[place:]


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    rest = 0
    for count, byte in enumerate(data[place : place + _MAX_VARINT_BYTES]):
        rest |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), place + count + 1
    raise ValueError("a cut or overlong message index")
