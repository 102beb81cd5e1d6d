"""What a look shows again is left out, and nothing else, wherever gulps are cut."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from headwater.source.postgres.stream.repeated import Repeated


def transaction(commit: int, rows: int = 2) -> list[bytes]:
    """A described table, rows, and a message that belongs to the transaction."""
    inside = b"M" + struct.pack("!Bq", 1, commit - 5) + b"p\0" + struct.pack("!i", 0)
    begin = b"B" + struct.pack("!qqI", commit, 0, 7)
    return [begin, b"R...", inside, *([b"I..."] * rows), b"C" + bytes(25)]


def alone(lsn: int) -> list[bytes]:
    """A message outside of transactions."""
    return [b"M" + struct.pack("!Bq", 0, lsn) + b"p\0" + struct.pack("!i", 0)]


def kept(repeated: Repeated, messages: list[bytes], size: int) -> list[bytes]:
    """What a look hands on that arrives in gulps of so many messages."""
    repeated.look_again()
    found = []
    for begin in range(0, len(messages), size):
        gulp = messages[begin : begin + size]
        lengths = np.array([len(each) for each in gulp], np.int64)
        first = repeated.first_new(b"".join(gulp), np.cumsum(lengths) - lengths)
        found += gulp[first:]
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_look_hands_on_only_what_is_new_when_it_begins_where_the_last_one_did(size: int) -> None:
    repeated = Repeated(100)
    first = [*transaction(100), *alone(150), *transaction(200, rows=0)]
    more = [*transaction(300), *alone(310), *transaction(320)]
    assert kept(repeated, first, size) == first
    assert kept(repeated, first, size) == []
    assert kept(repeated, [*first, *more], size) == more
    assert kept(repeated, transaction(320), size) == []  # the slot was confirmed meanwhile


@pytest.mark.parametrize("size", [1, 4, 100])
def test_commits_before_the_beginning_are_left_out_and_the_one_at_it_is_not(size: int) -> None:
    repeated = Repeated(200)
    before, at = transaction(199), transaction(200)
    assert kept(repeated, [*before, *at], size) == at


def test_nothing_is_kept_when_nothing_arrives() -> None:
    assert Repeated(1).first_new(b"x", np.empty(0, np.int64)) == 0
