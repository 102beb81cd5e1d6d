"""Writes replication messages as the server does, for tests of what reads them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.source.postgres.decode.pgoutput import (
    Decoded,
    Decoder,
    Relation,
    RelationColumn,
    Shape,
)
from headwater.source.postgres.decode.render import renderer
from headwater.source.postgres.decode.types import PgType

INT8, TEXT = 20, 25


class Unchanged:
    """A long value that the server leaves out because it did not change."""


UNCHANGED = Unchanged()
Value = str | bytes | None | Unchanged


def table(
    oid: int, columns: str, *, identity: str = "d", schema: str = "public", name: str = ""
) -> Relation:
    """A relation of columns such as `id* name -secret`: * is a key, - is not captured."""
    parsed = tuple(
        RelationColumn(
            word.rstrip("*"), INT8 if word.endswith("*") else TEXT, -1, is_key=word.endswith("*")
        )
        for word in columns.split()
    )
    return Relation(oid, schema, name or f"t{oid}", identity, parsed)


def shape(relation: Relation) -> Shape:
    return Shape(
        tuple(
            None if column.name.startswith("-") else renderer(PgType(column.type_oid, "any"))
            for column in relation.columns
        )
    )


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _tag(tag: bytes, xid: int | None) -> bytes:
    return tag if xid is None else tag + struct.pack("!I", xid)


def _tuple(kind: bytes, values: Sequence[Value]) -> bytes:
    parts = [kind, struct.pack("!h", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif isinstance(value, Unchanged):
            parts.append(b"u")
        else:
            raw = value if isinstance(value, bytes) else value.encode()
            parts.append(b"t" + struct.pack("!i", len(raw)) + raw)
    return b"".join(parts)


def relation(described: Relation, xid: int | None = None) -> bytes:
    head = struct.pack("!I", described.oid) + _text(described.schema) + _text(described.name)
    head += described.identity.encode() + struct.pack("!h", len(described.columns))
    columns = b"".join(
        bytes([column.is_key]) + _text(column.name) + struct.pack("!Ii", column.type_oid, -1)
        for column in described.columns
    )
    return _tag(b"R", xid) + head + columns


def insert(oid: int, new: Sequence[Value], xid: int | None = None) -> bytes:
    return _tag(b"I", xid) + struct.pack("!I", oid) + _tuple(b"N", new)


def update(
    oid: int,
    new: Sequence[Value],
    *,
    key: Sequence[Value] | None = None,
    old: Sequence[Value] | None = None,
    xid: int | None = None,
) -> bytes:
    before = _tuple(b"K", key) if key is not None else b""
    before += _tuple(b"O", old) if old is not None else b""
    return _tag(b"U", xid) + struct.pack("!I", oid) + before + _tuple(b"N", new)


def delete(
    oid: int,
    *,
    key: Sequence[Value] | None = None,
    old: Sequence[Value] | None = None,
    xid: int | None = None,
) -> bytes:
    before = _tuple(b"K", key) if key is not None else _tuple(b"O", old or ())
    return _tag(b"D", xid) + struct.pack("!I", oid) + before


def begin(xid: int, lsn: int = 1, at_us: int = 0) -> bytes:
    return b"B" + struct.pack("!qqI", lsn, at_us, xid)


def commit(lsn: int = 1, end: int = 2, at_us: int = 0) -> bytes:
    return b"C" + struct.pack("!Bqqq", 0, lsn, end, at_us)


def truncate(oids: Sequence[int], flags: int = 0, xid: int | None = None) -> bytes:
    return _tag(b"T", xid) + struct.pack(f"!iB{len(oids)}I", len(oids), flags, *oids)


def message(prefix: str, content: bytes, *, flags: int = 1, xid: int | None = None) -> bytes:
    head = struct.pack("!Bq", flags, 7) + _text(prefix)
    return _tag(b"M", xid) + head + struct.pack("!i", len(content)) + content


def origin(name: str, lsn: int = 5) -> bytes:
    return b"O" + struct.pack("!q", lsn) + _text(name)


def named_type(oid: int, name: str, xid: int | None = None) -> bytes:
    return _tag(b"Y", xid) + struct.pack("!I", oid) + _text("public") + _text(name)


def stream_start(xid: int, *, first: bool = True) -> bytes:
    return b"S" + struct.pack("!IB", xid, first)


def stream_stop() -> bytes:
    return b"E"


def stream_commit(xid: int, lsn: int = 1, end: int = 2, at_us: int = 0) -> bytes:
    return b"c" + struct.pack("!IBqqq", xid, 0, lsn, end, at_us)


def stream_abort(xid: int, subxid: int, *, parallel: bool = False) -> bytes:
    return b"A" + struct.pack("!II", xid, subxid) + (struct.pack("!qq", 1, 2) if parallel else b"")


def decode(decoder: Decoder, messages: Sequence[bytes]) -> Decoded:
    """Decode messages that arrive in one buffer, with other bytes between them."""
    gap = b"\xff\xff\xff"
    sizes = np.array([len(payload) for payload in messages], dtype=np.int64)
    ends = np.cumsum(sizes + len(gap), dtype=np.int64)
    return decoder.decode(b"".join(gap + payload for payload in messages), ends - sizes, ends)


def lists(column: pa.Array | None, count: int) -> list[list[str] | None]:
    return [None] * count if column is None else column.to_pylist()
