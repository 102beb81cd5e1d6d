"""Transactions in progress: kept apart, cut by savepoints, read back as they came."""

import struct

import numpy as np

from headwater.source.postgres.stream.spool import Spool


def _message(tag: str, xid: int, body: bytes = b"") -> bytes:
    return tag.encode() + struct.pack("!I", xid) + body


def _add(spool: Spool, xid: int, *messages: bytes) -> None:
    """As a gulp holds them: other bytes before and between."""
    buffer, starts, ends = b"--", [], []
    for message in messages:
        starts.append(len(buffer))
        buffer += message
        ends.append(len(buffer))
        buffer += b"#" * 25
    spool.add(xid, buffer, np.array(starts), np.array(ends))


def _taken(spool: Spool, xid: int) -> list[bytes]:
    return [
        buffer[start:end]
        for buffer, starts, ends in spool.take(xid)
        for start, end in zip(starts, ends, strict=True)
    ]


def test_messages_come_back_in_order_when_transactions_interleave() -> None:
    spool = Spool()
    _add(spool, 7, _message("S", 7), _message("I", 7, b"a"))
    _add(spool, 8, _message("I", 8, b"b"))
    _add(spool, 7, _message("D", 7, b"c"), b"E")
    assert _taken(spool, 7) == [
        *(_message("S", 7), _message("I", 7, b"a")),
        *(_message("D", 7, b"c"), b"E"),
    ]
    assert _taken(spool, 8) == [_message("I", 8, b"b")]
    assert _taken(spool, 7) == []


def test_transaction_is_gone_when_it_was_rolled_back() -> None:
    spool = Spool()
    _add(spool, 7, _message("I", 7))
    spool.abort(7, 7)
    assert _taken(spool, 7) == []


def test_only_the_savepoint_is_gone_when_a_part_was_rolled_back() -> None:
    spool = Spool()
    kept, undone = _message("I", 7, b"keep"), _message("U", 9, b"undo")
    shape = _message("R", 9, b"shape")
    _add(spool, 7, kept, shape, undone, _message("T", 9), _message("M", 9), _message("I", 11))
    spool.abort(7, 9)
    assert _taken(spool, 7) == [kept, shape, _message("I", 11)]


def test_abort_of_an_unknown_transaction_is_ignored() -> None:
    """The server tells of aborts whose changes were all filtered out."""
    spool = Spool()
    spool.abort(7, 7)
    spool.abort(7, 9)
    assert _taken(spool, 7) == []
