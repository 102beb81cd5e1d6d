"""Positions in the write-ahead log: 64-bit numbers that people write as `16/B374D848`."""

from __future__ import annotations

from headwater.errors import DataError

_PAGE_HEADER, _FIRST_PAGE_HEADER = 24, 40


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


def record_end(insert_lsn: int, page_bytes: int, segment_bytes: int) -> int:
    """Where the last record ends, of the position at which the next one will begin.

    They differ where a page is full: the next record begins after the new page's header, but until
    it is written nobody who reads the log gets further than the end of the full page.
    """
    header = _FIRST_PAGE_HEADER if insert_lsn % segment_bytes < page_bytes else _PAGE_HEADER
    return insert_lsn - header if insert_lsn % page_bytes == header else insert_lsn
