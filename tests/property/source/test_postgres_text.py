"""PostgreSQL's texts against what Python writes for the same values."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import CorruptionError
from headwater.source.postgres.decode.copytext import split_copy
from headwater.source.postgres.decode.render import renderer
from headwater.source.postgres.decode.types import Oid, PgType, TypeClass

# Without surrogates, which no UTF-8 has.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def literals(kind: PgType, texts: list[str | None]) -> list[str | None]:
    found: list[str | None] = renderer(kind)(pa.array(texts, pa.string())).to_pylist()
    return found


@given(st.lists(st.none() | TEXTS))
def test_text_is_escaped_as_json_does_it(texts: list[str | None]) -> None:
    expected = [None if t is None else json.dumps(t, ensure_ascii=False) for t in texts]
    assert literals(PgType(25, "text"), texts) == expected


@given(st.lists(st.none() | st.binary(max_size=9)))
def test_bytes_become_base64(values: list[bytes | None]) -> None:
    texts = [None if value is None else "\\x" + value.hex() for value in values]
    expected = [None if v is None else f'"{base64.b64encode(v).decode()}"' for v in values]
    assert literals(PgType(Oid.BYTEA, "bytea"), texts) == expected


@given(st.lists(st.none() | st.datetimes()))
def test_timestamps_become_iso_with_microseconds(values: list[datetime | None]) -> None:
    def printed(value: datetime) -> str:
        text = value.isoformat(" ", timespec="microseconds")
        return text.rstrip("0").rstrip(".") if value.microsecond else text[:19]

    texts = [None if value is None else printed(value) + "+00" for value in values]
    expected = [
        None if value is None else f'"{value.isoformat(timespec="microseconds")}Z"'
        for value in values
    ]
    assert literals(PgType(Oid.TIMESTAMPTZ, "timestamptz"), texts) == expected


NESTED = st.lists(st.none() | TEXTS, max_size=4) | st.lists(
    st.lists(st.none() | TEXTS, min_size=2, max_size=2), max_size=3
)


def array_text(value: Any) -> str:
    """What the server prints: quotes only where it needs them."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "{" + ",".join(array_text(item) for item in value) + "}"
    text = str(value)
    bare = text and text.upper() != "NULL" and not set(text) & set('{}",\\ \t\n\r\v\f')
    return text if bare else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.lists(st.none() | NESTED, max_size=6))
def test_arrays_become_json_arrays(values: list[Any]) -> None:
    kind = PgType(1009, "_text", TypeClass.ARRAY, element=PgType(25, "text"))
    texts = [None if value is None else array_text(value) for value in values]
    found = literals(kind, texts)
    assert [None if text is None else json.loads(text) for text in found] == values


ESCAPES = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}
COPY_TEXTS = st.none() | st.text(st.sampled_from("aN\\\t\n\r\b\f\vé"), max_size=6)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(COPY_TEXTS, min_size=n, max_size=n))))
def test_copied_rows_come_back(rows: list[list[str | None]]) -> None:
    columns = len(rows[0]) if rows else 2
    data = "".join("\t".join(_copied(value) for value in row) + "\n" for row in rows).encode()
    found = [column.to_pylist() for column in split_copy(data, columns)]
    expected = [
        [None if row[number] is None else str(row[number]).encode() for row in rows]
        for number in range(columns)
    ]
    assert found == expected


def _copied(value: str | None) -> str:
    return "\\N" if value is None else "".join(ESCAPES.get(char, char) for char in value)


@given(
    st.lists(st.sampled_from([b"a", b"\\", b"N", b"n", b"\t", b"\n"])).map(b"".join),
    st.integers(0, 3),
)
def test_split_copy_raises_only_its_own_error_when_given_any_bytes(
    data: bytes, columns: int
) -> None:
    with suppress(CorruptionError):
        found = split_copy(data, columns)
        assert all(len(column) == data.count(b"\n") for column in found)
