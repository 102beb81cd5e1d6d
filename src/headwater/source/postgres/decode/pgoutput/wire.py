"""Big-endian numbers at many places of one buffer, and the error of bytes that make no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.errors import CorruptionError
from headwater.source.postgres.decode.spans import Bytes, Flags, Places

_EPOCH_MS = 946_684_800_000  # 2000-01-01, where the server's clock begins
_LONGEST = 2**31 - 1


def malformed(reason: str, message: int | None = None) -> CorruptionError:
    """The error of a message that breaks the protocol. It never shows the message's content."""
    where = "" if message is None else f"message {message} of the buffer"
    return CorruptionError(
        "postgres-protocol", f"malformed replication data: {reason}", where=where
    )


def milliseconds(server_us: int) -> int:
    """A time of the protocol (microseconds since 2000) in milliseconds since 1970."""
    return server_us // 1000 + _EPOCH_MS


class Wire:
    """The buffer and its messages, read at many places with one call.

    The readers trust the caller that the bytes are there: `require` first.
    """

    def __init__(self, buffer: bytes, starts: Places, ends: Places) -> None:
        if len(starts) != len(ends) or len(buffer) > _LONGEST:
            raise malformed("a buffer has fewer than 2 GiB, a start and an end for each message")
        self.buffer = buffer
        self.starts = starts
        self.ends = ends
        self.bytes: Bytes = np.frombuffer(buffer, dtype=np.uint8)
        before = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1]))
        self.refuse((starts < before) | (ends <= starts) | (ends > len(buffer)), "no such message")
        self.tags: Bytes = self.bytes[starts]

    def __len__(self) -> int:
        return len(self.starts)

    def refuse(self, broken: Flags, reason: str, messages: Places | None = None) -> None:
        """Raise for the first message that is broken; `messages` are the numbers of those asked."""
        if broken.any():
            first = int(np.argmax(broken))
            raise malformed(reason, first if messages is None else int(messages[first]))

    def require(self, messages: Places, places: Places, size: int) -> None:
        """Each of these messages must go on for `size` bytes from its place."""
        self.refuse(places + size > self.ends[messages], "it ends too early", messages)

    def u8(self, places: Places) -> Bytes:
        """The bytes at these places."""
        return self.bytes[places]

    def i16(self, places: Places) -> Places:
        """Signed numbers of two bytes."""
        return self._numbers(places, ">i2", 2)

    def i32(self, places: Places) -> Places:
        """Signed numbers of four bytes."""
        return self._numbers(places, ">i4", 4)

    def u32(self, places: Places) -> Places:
        """Unsigned numbers of four bytes."""
        return self._numbers(places, ">u4", 4)

    def i64(self, places: Places) -> Places:
        """Signed numbers of eight bytes."""
        return self._numbers(places, ">i8", 8)

    def ms(self, places: Places) -> Places:
        """Times in milliseconds since 1970."""
        return self.i64(places) // 1000 + _EPOCH_MS

    def _numbers(self, places: Places, kind: str, size: int) -> Places:
        if len(places) == 0:
            return np.zeros(0, dtype=np.int64)
        # A number could begin at every byte: the buffer seen so is an array with steps of one.
        count = len(self.buffer) - size + 1
        every: npt.NDArray[Any] = np.ndarray((count,), dtype=kind, buffer=self.buffer, strides=(1,))
        return every[places].astype(np.int64)
