"""The running stream: when it may be said to have passed a position."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from headwater.event import EventBatch
from headwater.source.postgres.place import Place
from headwater.source.postgres.stream.assemble import Assembled, Assembler
from headwater.source.postgres.stream.mailbox import Gulp
from headwater.source.postgres.stream.receive import Receiver
from headwater.source.postgres.stream.running import Stream


class ScriptedReceiver(Receiver):
    """Gives the gulps that a test wrote down."""

    def __init__(self, gulps: Sequence[Gulp]) -> None:
        self._script = iter(gulps)

    def take(self, timeout_s: float) -> Gulp | None:
        del timeout_s
        return next(self._script, None)


class ScriptedAssembler(Assembler):
    """Gives for each gulp what a test wrote down; every gulp ends with its transaction."""

    def __init__(self, assembled: Mapping[bytes, Sequence[Assembled]]) -> None:
        self._assembled = assembled
        self._opened = None

    def assemble(self, gulp: Gulp, max_events: int) -> Iterator[Assembled]:
        del max_events
        return iter(self._assembled[gulp.buffer])


def _gulp(name: bytes, reached: int) -> Gulp:
    return Gulp(name, np.empty(0, np.int64), np.empty(0, np.int64), reached)


def _piece(lsn: int | None) -> Assembled:
    block = {"tx_id": 7, "total_events": None, "event_index": 0}
    return Assembled(EventBatch.from_columns({"transaction": [block]}), lsn, ())


def test_no_position_is_passed_when_a_transaction_is_handed_on_in_part() -> None:
    """INV-7: a chunk of rows put here would close what it does not belong to."""
    gulps = [_gulp(b"keepalive", 100), _gulp(b"changes", 0)]
    assembled = {b"keepalive": (), b"changes": (_piece(None), _piece(None), _piece(120))}
    stream = Stream(ScriptedReceiver(gulps), ScriptedAssembler(assembled), Place("1", 1, "s"), 0)
    passed = []
    for _ in range(3):
        stream.read(1, 0.0, None)
        passed.append(stream.passed(100))
    assert passed == [False, False, True]
