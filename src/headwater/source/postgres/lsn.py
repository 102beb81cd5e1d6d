"""Positions in the write-ahead log: 64-bit numbers that people write as `16/B374D848`."""

from __future__ import annotations

from headwater.errors import DataError


def parse_lsn(text: str) -> int:
    """The number of a position's text."""
    high, slash, low = text.partition("/")
    try:
        if not slash:
            raise ValueError(text)
        return (int(high, 16) << 32) + int(low, 16)
    except ValueError as exc:
        raise DataError("position-invalid", f"{text!r} is no write-ahead log position") from exc


def format_lsn(lsn: int) -> str:
    """The text of a position, with the low half at full width so that texts sort as numbers do."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFF_FFFF:08X}"
