"""Numbers of variable length: seven bits in each byte, the lowest first."""

from __future__ import annotations

from headwater.errors import DataError
from headwater.format.files.window import Window

_MAX_BYTES = 10


def varint(value: int) -> bytes:
    """A number that is not negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_varint(window: Window) -> int | None:
    """The next number, or None at the end of the stream; a DataError if it is cut or too long."""
    value = 0
    for place in range(_MAX_BYTES):
        byte = window.take(1)
        if not byte:
            if place == 0:
                return None
            raise DataError("record-truncated", "the file ends inside a number")
        value |= (byte[0] & 0x7F) << 7 * place
        if byte[0] < 0x80:
            return value
    raise DataError("record-length", f"a number does not end within {_MAX_BYTES} bytes")


def long(value: int) -> bytes:
    """A signed number of 64 bits, as Avro writes it."""
    return varint((value << 1) ^ (value >> 63))


def take_long(window: Window) -> int | None:
    """The next signed number, or None at the end of the stream."""
    value = take_varint(window)
    return None if value is None else (value >> 1) ^ -(value & 1)
