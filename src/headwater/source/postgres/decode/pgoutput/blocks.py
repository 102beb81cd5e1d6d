"""Streamed blocks: pieces of transactions still in progress, between a start and a stop.

Inside a block every message about rows, relations and types carries its (sub)transaction's number
right after its tag, so its content begins four bytes later than outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.source.postgres.decode.pgoutput.wire import Wire
from headwater.source.postgres.decode.spans import Flags, Places

_START, _STOP = ord("S"), ord("E")
_NUMBERED = np.zeros(256, dtype=np.bool_)  # tags that carry a transaction number inside a block
_NUMBERED[np.frombuffer(b"RYIUDTM", dtype=np.uint8)] = True
_OUTSIDE = np.zeros(256, dtype=np.bool_)  # tags that never lie inside a block
_OUTSIDE[np.frombuffer(b"BCScA", dtype=np.uint8)] = True


@dataclass(frozen=True, slots=True)
class Blocks:
    """For each message where its content begins, and its transaction if it lies in a block.

    `xid` is 0 outside of blocks: no transaction has that number. `still_inside` tells whether the
    buffer ends within a block.
    """

    body: Places
    xid: Places
    still_inside: bool


def find_blocks(wire: Wire, *, inside: bool) -> Blocks:
    """Where blocks lie, if the buffer begins inside one or not."""
    tags = wire.tags
    borders = np.flatnonzero((tags == _START) | (tags == _STOP))
    if not inside and len(borders) == 0:
        return Blocks(wire.starts + 1, np.zeros(len(wire), dtype=np.int64), still_inside=False)
    within = _within(wire, borders, inside=inside)
    wire.refuse(within & _OUTSIDE[tags], "it may not lie inside a streamed block")
    wire.refuse(~within & (tags == _STOP), "a streamed block ends that never began")
    numbered = np.flatnonzero(within & _NUMBERED[tags])
    wire.require(numbered, wire.starts[numbered] + 1, 4)
    xid = np.zeros(len(wire), dtype=np.int64)
    xid[numbered] = wire.u32(wire.starts[numbered] + 1)
    body = wire.starts + 1
    body[numbered] += 4
    if len(borders):
        inside = bool(tags[borders[-1]] == _START)
    return Blocks(body, xid, still_inside=inside)


def _within(wire: Wire, borders: Places, *, inside: bool) -> Flags:
    """Whether each message lies after a start and not after the next stop; a stop lies inside."""
    passed = np.searchsorted(borders, np.arange(len(wire)), side="left")
    after_start = np.concatenate(([inside], wire.tags[borders] == _START))
    return np.asarray(after_start[passed], dtype=np.bool_)
