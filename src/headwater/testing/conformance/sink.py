"""What every sink owes. Subclass, say how it is made and how its records are read back, run pytest.

class TestMySink(SinkConformance):
    def make(self) -> Sink: ...
    def stored(self) -> list[int]: ...
"""

from __future__ import annotations

import pytest

from headwater.contract import Sink, WriteStatus
from headwater.event import EventBatch
from headwater.testing.builders import inserts


class SinkConformance:
    """The suite. Sequence numbers tell events apart."""

    def make(self) -> Sink:
        """A sink on the destination under test, not opened; the same destination every time."""
        raise NotImplementedError

    def stored(self) -> list[int]:
        """The sequence numbers that the destination holds durably, in its order."""
        raise NotImplementedError

    def test_events_are_stored_in_order_when_flushed(self) -> None:
        sink = self.opened()
        for first in (1, 4, 7):
            sink.write(batch(first, 3))
        sink.flush()
        sink.close()
        assert self.stored() == list(range(1, 10))

    def test_events_are_stored_at_once_when_the_write_says_durable(self) -> None:
        sink = self.opened()
        if sink.write(batch(1, 3)) is WriteStatus.DURABLE:
            assert self.stored() == [1, 2, 3]
        sink.close()

    def test_events_go_on_behind_the_old_ones_when_opened_again(self) -> None:
        for first in (1, 4):
            sink = self.opened()
            sink.write(batch(first, 3))
            sink.flush()
            sink.close()
        assert self.stored() == [1, 2, 3, 4, 5, 6]

    def test_nothing_is_lost_when_unflushed_events_are_written_again(self) -> None:
        sink = self.opened()
        sink.write(batch(1, 3))
        sink.flush()
        sink.write(batch(4, 2))
        sink.close()  # without flush: a crash, as far as the destination is concerned
        sink = self.opened()
        sink.write(batch(4, 2))
        sink.write(batch(6, 1))
        sink.flush()
        sink.close()
        assert list(dict.fromkeys(self.stored())) == [1, 2, 3, 4, 5, 6]
        if sink.capabilities.idempotent:
            assert self.stored() == [1, 2, 3, 4, 5, 6]

    def test_repeated_writes_change_nothing_when_idempotence_is_declared(self) -> None:
        sink = self.opened()
        if not sink.capabilities.idempotent:
            pytest.skip("the sink declares no idempotence")
        for first, count in ((1, 3), (1, 3), (2, 4), (1, 5)):
            sink.write(batch(first, count))
        sink.flush()
        sink.close()
        sink = self.opened()
        sink.write(batch(3, 4))
        sink.flush()
        sink.close()
        assert self.stored() == [1, 2, 3, 4, 5, 6]

    def test_flush_and_close_are_safe_when_nothing_was_written(self) -> None:
        sink = self.opened()
        sink.flush()
        sink.close()
        sink.close()
        assert self.stored() == []

    def opened(self) -> Sink:
        """A sink, open."""
        sink = self.make()
        sink.open()
        return sink


def batch(first: int, count: int) -> EventBatch:
    """Events numbered from `first`."""
    return inserts(first, count).with_sequence(first)
