"""StreamSink: one record per line to a stream, for people and pipes."""

from __future__ import annotations

import sys
from typing import BinaryIO

from headwater.contract import Format, SinkCapabilities, WriteStatus
from headwater.errors import MachineError
from headwater.event import EventBatch
from headwater.sink.framing import Framing


class StreamSink:
    """Writes lines to standard output, or to a stream that was handed in.

    Delivery: at least once. Durable means handed to the operating system: what the reader of a pipe
    does with it cannot be known. After a restart the events since the last acknowledgement come
    again.
    """

    def __init__(self, record_format: Format, stream: BinaryIO | None = None) -> None:
        self._format = record_format
        self._stream = stream

    @property
    def capabilities(self) -> SinkCapabilities:
        """In order; a repeated write is printed twice."""
        return SinkCapabilities(idempotent=False, ordered=True)

    def open(self) -> None:
        """Nothing to connect."""

    def write(self, batch: EventBatch) -> WriteStatus:
        """Print the batch."""
        try:
            self._out().write(Framing.LINES.frame(self._format.encode(batch)))
        except OSError as exc:
            raise MachineError("sink-io", str(exc), where="standard output") from exc
        return WriteStatus.ACCEPTED

    def flush(self) -> None:
        """Hand everything to the operating system."""
        try:
            self._out().flush()
        except OSError as exc:
            raise MachineError("sink-io", str(exc), where="standard output") from exc

    def close(self) -> None:
        """The stream belongs to whoever opened it."""

    def _out(self) -> BinaryIO:
        return sys.stdout.buffer if self._stream is None else self._stream
