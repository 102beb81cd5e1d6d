"""The rows of a COPY's answer are found wherever they lie, quickly or one by one."""

from __future__ import annotations

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.errors import CorruptionError
from headwater.source.postgres.decode import copyframes
from headwater.source.postgres.decode.copyframes import is_whole, read_answer


def framed(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("!I", len(content) + 4) + content


def answer(rows: list[bytes], between: bytes = b"") -> bytes:
    begun = framed(b"H", b"\0\0\x0a" + b"\0\0" * 10)  # ten columns: a newline before any row
    done = framed(b"c", b"") + framed(b"C", b"COPY 1\0") + framed(b"Z", b"T")
    return begun + between.join(framed(b"d", row) for row in rows) + done


def found(data: bytes) -> list[bytes]:
    rows = read_answer(np.frombuffer(data, np.uint8))
    return [data[start:end] for start, end in zip(rows.starts, rows.ends, strict=True)]


# Rows that begin with a message's letter, and lengths that hold a newline (0x0A, 0x0A64).
ROWS = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.sampled_from([b"d" * 5, b"ddx", b"d" * 0x105, b"x" * 0x105, b"c", b"d" * 0xA5F, b""]),
    ).map(lambda row: row.replace(b"\n", b"") + b"\n")
)


@given(ROWS)
@example([b"d" * 5 + b"\n", b"d" * 5 + b"\n"])
@example([b"x" * 0xA5F + b"\n", b"c\n"])
def test_rows_are_found_whatever_their_bytes_look_like(rows: list[bytes]) -> None:
    assert found(answer(rows)) == rows


def test_rows_are_walked_only_when_the_guess_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copyframes, "_walked", lambda _: pytest.fail("walked"))
    assert len(found(answer([b"1\tx\n", b"22\t\n"] * 500))) == 1000


def test_rows_are_found_when_the_server_speaks_of_something_else_in_between() -> None:
    rows = [b"1\n", b"2\n", b"3\n"]
    assert found(answer(rows, framed(b"N", b"SNOTICE\0Mline one\nd\0\0"))) == rows


def test_error_is_told_when_the_server_gives_up_after_some_rows() -> None:
    told = b"C22012\0Mdivision by zero\0\0"
    for spoken_after in (6, 18, 23):  # the count, the end of the rows, the last row
        data = answer([b"1\n"])[:-spoken_after] + framed(b"E", told) + framed(b"Z", b"E")
        assert read_answer(np.frombuffer(data, np.uint8)).error == told


@given(ROWS, st.integers(0, 60))
def test_answer_is_whole_only_at_its_end(rows: list[bytes], short: int) -> None:
    data = answer(rows)
    size = max(0, len(data) - short)
    assert is_whole(data, size) == (size == len(data))


@given(st.binary(min_size=5, max_size=60))
def test_any_bytes_end_in_rows_or_in_our_error(data: bytes) -> None:
    with suppress(CorruptionError):
        rows = read_answer(np.frombuffer(data, np.uint8))
        assert (rows.starts <= rows.ends).all()
        assert (rows.ends <= len(data)).all()
