"""The socket's bytes cut anywhere give the same messages."""

from __future__ import annotations

import socket
import struct
from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import CorruptionError, TransientError
from headwater.source.postgres.stream.copyboth import SocketStream


def _framed(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("!I", len(content) + 4) + content


class _Server:
    """The other end of a socket, and a stream on this one."""

    def __init__(self) -> None:
        self.end, mine = socket.socketpair()
        mine.setblocking(False)
        self.mine = mine
        self.stream = SocketStream(cast(Any, SimpleNamespace(socket=mine.fileno())))

    def taken(self) -> list[bytes]:
        buffer, starts, ends = self.stream.take()
        return [buffer[start:end] for start, end in zip(starts, ends, strict=True)]


@given(
    contents=st.lists(st.binary(max_size=300), min_size=1, max_size=40),
    cuts=st.lists(st.integers(1, 700), min_size=1, max_size=30),
    take_every=st.integers(1, 4),
)
def test_messages_are_the_same_wherever_the_bytes_are_cut(
    contents: list[bytes], cuts: list[int], take_every: int
) -> None:
    server = _Server()
    data = b"".join(
        _framed(b"d", content) + (_framed(b"N", b"notice") if number % 3 == 0 else b"")
        for number, content in enumerate(contents)
    )
    got: list[bytes] = []
    turn = 0
    while data:
        size = cuts[turn % len(cuts)]
        server.end.sendall(data[:size])
        data = data[size:]
        server.stream.pump(1000)
        if turn % take_every == 0:
            got += server.taken()
        turn += 1
    assert got + server.taken() == contents


def test_stream_begins_when_rows_come_together_with_the_answer() -> None:
    server = _Server()
    server.end.sendall(_framed(b"W", b"\0\0\0") + _framed(b"d", b"first"))
    server.stream.begin("START")
    assert server.end.recv(100) == _framed(b"Q", b"START\0")
    assert server.stream.pump(10) == 1
    assert server.taken() == [b"first"]


def test_refusal_is_the_servers_error_when_the_stream_may_not_begin() -> None:
    server = _Server()
    server.end.sendall(_framed(b"E", b"SERROR\0C55006\0Mslot is active\0\0"))
    with pytest.raises(psycopg.errors.ObjectInUse, match="slot is active"):
        server.stream.begin("START")


@pytest.mark.parametrize("ending", [b"close", _framed(b"c", b""), _framed(b"E", b"C57P01\0Mx\0\0")])
def test_end_is_an_error_when_the_server_goes_away(ending: bytes) -> None:
    server = _Server()
    server.end.sendall(_framed(b"d", b"last"))
    if ending == b"close":
        server.end.close()
    else:
        server.end.sendall(ending)
    with pytest.raises((TransientError, psycopg.OperationalError)):
        deque(iter(lambda: server.stream.pump(10), None), maxlen=0)


def test_impossible_length_is_damage() -> None:
    server = _Server()
    server.end.sendall(b"d" + struct.pack("!I", 0xFFFF_FFFF))
    with pytest.raises(CorruptionError):
        server.stream.pump(10)


def test_messages_go_out_framed() -> None:
    server = _Server()
    server.stream.send(b"status")
    assert server.end.recv(100) == _framed(b"d", b"status")
