"""Bytes of a stream that need not be seekable, with as much look ahead as is given back."""

from __future__ import annotations

from typing import BinaryIO

_STEP = 64 << 10


class Window:
    """Takes bytes from a stream and knows how many it took."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead = b""
        self.offset = 0

    def take(self, count: int) -> bytes:
        """The next bytes; fewer only at the end."""
        data, self._ahead = self._ahead[:count], self._ahead[count:]
        if len(data) < count:
            data += self._stream.read(count - len(data))
        self.offset += len(data)
        return data

    def give_back(self, data: bytes) -> None:
        """Let these bytes be taken again."""
        self._ahead = data + self._ahead
        self.offset -= len(data)

    def skip(self, count: int) -> int:
        """Leave bytes out; how many there were."""
        left = count
        while left and (taken := len(self.take(min(left, _STEP)))):
            left -= taken
        return count - left

    def skip_past(self, marker: bytes) -> bool:
        """Go on behind the next marker; False if the stream ends without one."""
        tail = b""
        while step := self.take(_STEP):
            data = tail + step
            found = data.find(marker)
            if found >= 0:
                self.give_back(data[found + len(marker) :])
                return True
            tail = data[1 - len(marker) :]
        return False
