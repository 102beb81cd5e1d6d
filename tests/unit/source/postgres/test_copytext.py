from __future__ import annotations

import pytest

from headwater.errors import CorruptionError
from headwater.source.postgres.decode.copytext import split_copy


def columns(data: bytes, count: int) -> list[list[bytes | None]]:
    return [column.to_pylist() for column in split_copy(data, count)]


def test_split_copy_gives_one_array_per_column() -> None:
    assert columns(b"1\tx\t\\N\n22\t\tz\n", 3) == [[b"1", b"22"], [b"x", b""], [None, b"z"]]


def test_split_copy_puts_each_escape_in_its_place() -> None:
    line = rb"a\tb\nc\rd\be\ff\vg\\h" + b"\tplain\t\\\\N\n"
    assert columns(line, 3) == [[b"a\tb\nc\rd\be\ff\vg\\h"], [b"plain"], [b"\\N"]]


def test_split_copy_pairs_backslashes_when_they_come_in_runs() -> None:
    assert columns(
        rb"\\\\n" + b"\n" + rb"\\\n" + b"\n" + rb"\\" + b"\n" + rb"\\xde" + b"\n", 1
    ) == [[rb"\\n", b"\\\n", b"\\", rb"\xde"]]


def test_split_copy_keeps_nulls_when_their_neighbours_have_escapes() -> None:
    assert columns(b"\\N\n\\\\\n\\N\n\\N\nN\n", 1) == [[None, b"\\", None, None, b"N"]]


def test_split_copy_gives_empty_columns_when_there_are_no_lines() -> None:
    assert columns(b"", 2) == [[], []]
    assert columns(b"\n\n", 0) == []


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"1\t2", 2),
        (b"1\n", 2),
        (b"1\n2\n", 2),
        (b"1\t2\t3\n", 2),
        (b"1\t2\t3\n4\n", 2),
        (b"1\t2\n3\n4\t5\t6\n", 2),
        (b"a\\\n", 1),
        (b"a\\qb\n", 1),
        (b"\\Nx\n", 1),
        (b"\\\n\\\\\n", 1),
    ],
)
def test_split_copy_refuses_data_when_it_is_malformed(data: bytes, count: int) -> None:
    with pytest.raises(CorruptionError) as caught:
        split_copy(data, count)
    assert caught.value.code == "postgres-protocol"
