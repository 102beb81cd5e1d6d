"""Messages that are rare, read one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from headwater.errors import DataError
from headwater.source.postgres.decode.pgoutput.messages import (
    Control,
    LogicalMessage,
    Origin,
    Relation,
    RelationColumn,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    TypeSeen,
)
from headwater.source.postgres.decode.pgoutput.relations import Versions
from headwater.source.postgres.decode.pgoutput.wire import malformed, milliseconds

_TWO_PHASE = b"bPKrp"
_IDENTITIES = "dfin"


@dataclass(slots=True)
class Payload:
    """One message's content from `place` to `end`, read from the front."""

    buffer: bytes
    place: int
    end: int
    message: int

    def unpack(self, form: str) -> tuple[int, ...]:
        """Numbers of this struct form."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take(self, size: int) -> bytes:
        """So many bytes."""
        place = self.place
        if size < 0 or place + size > self.end:
            raise malformed("it ends too early", self.message)
        self.place = place + size
        return self.buffer[place : place + size]

    def text(self) -> str:
        """Text up to a zero byte."""
        zero = self.buffer.find(b"\0", self.place, self.end)
        if zero < 0:
            raise malformed("a name has no end", self.message)
        raw = self.take(zero - self.place)
        self.place += 1
        try:
            return raw.decode()
        except UnicodeDecodeError as exc:
            raise malformed("a name is not UTF-8", self.message) from exc

    def close(self) -> None:
        """Nothing may be left."""
        if self.place != self.end:
            raise malformed("it has bytes left over", self.message)


def read_relation(payload: Payload) -> Relation:
    """R: a table's columns."""
    (oid,) = payload.unpack("!I")
    schema, name = payload.text(), payload.text()
    identity, count = payload.unpack("!Bh")
    if chr(identity) not in _IDENTITIES or count < 0:
        raise malformed("a relation without identity or columns", payload.message)
    columns = tuple(_column(payload) for _ in range(count))
    payload.close()
    return Relation(oid, schema, name, chr(identity), columns)


def _column(payload: Payload) -> RelationColumn:
    (flags,) = payload.unpack("!B")
    name = payload.text()
    type_oid, typmod = payload.unpack("!Ii")
    return RelationColumn(name, type_oid, typmod, is_key=bool(flags & 1))


def read_control(tag: int, payload: Payload, xid: int, versions: Versions) -> Control:
    """Any message that is neither about a row, a relation, nor an ordinary begin or commit.

    `xid` is 0 outside of blocks.
    """
    if tag in _TWO_PHASE:
        raise DataError("postgres-two-phase", "the slot sends prepared transactions")
    reader = _READERS.get(tag)
    if tag == ord("T"):
        control: Control = _truncate(payload, xid or None, versions)
    elif tag == ord("M"):
        control = _message(payload, xid or None)
    elif reader is not None:
        control = reader(payload)
    else:
        raise malformed("its kind is unknown", payload.message)
    payload.close()
    return control


def _truncate(payload: Payload, xid: int | None, versions: Versions) -> Truncate:
    count, flags = payload.unpack("!iB")
    if count < 0:
        raise malformed("a truncate of fewer than no tables", payload.message)
    oids = struct.unpack(f"!{count}I", payload.take(4 * count))
    return Truncate(
        payload.message,
        tuple(versions.at(oid, payload.message).relation for oid in oids),
        cascade=bool(flags & 1),
        restart=bool(flags & 2),
        xid=xid,
    )


def _message(payload: Payload, xid: int | None) -> LogicalMessage:
    flags, lsn = payload.unpack("!Bq")
    prefix = payload.text()
    (size,) = payload.unpack("!i")
    content = payload.take(size)
    return LogicalMessage(payload.message, bool(flags & 1), lsn, prefix, content, xid)


def _type(payload: Payload) -> TypeSeen:
    (oid,) = payload.unpack("!I")
    return TypeSeen(payload.message, oid, payload.text(), payload.text())


def _origin(payload: Payload) -> Origin:
    (lsn,) = payload.unpack("!q")
    return Origin(payload.message, lsn, payload.text())


def _stream_start(payload: Payload) -> StreamStart:
    xid, first = payload.unpack("!IB")
    return StreamStart(payload.message, xid, first=bool(first))


def _stream_stop(payload: Payload) -> StreamStop:
    return StreamStop(payload.message)


def _stream_commit(payload: Payload) -> StreamCommit:
    xid, _, commit_lsn, end_lsn, at_us = payload.unpack("!IBqqq")
    return StreamCommit(payload.message, xid, commit_lsn, end_lsn, milliseconds(at_us))


def _stream_abort(payload: Payload) -> StreamAbort:
    xid, subxid = payload.unpack("!II")
    if payload.place != payload.end:
        payload.unpack("!qq")  # protocol 4 adds where and when, for appliers in parallel
    return StreamAbort(payload.message, xid, subxid)


_READERS: dict[int, Callable[[Payload], Control]] = {
    ord("Y"): _type,
    ord("O"): _origin,
    ord("S"): _stream_start,
    ord("E"): _stream_stop,
    ord("c"): _stream_commit,
    ord("A"): _stream_abort,
}
