"""Any sequence of appends, pieces, crashes, acks and retention: the log does as a list would."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.event import EventBatch, Position
from headwater.log import RetentionPolicy, SqliteLog
from headwater.log.writer import SqliteLogWriter
from headwater.testing.builders import IDENTITY, inserts, source_batch


class LogMachine(RuleBasedStateMachine):
    """The model is a list of offsets; the log must agree after every step (INV-5 to INV-8)."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.log = SqliteLog.create(Path(self.folder.name) / "events.hwlog")
        self.writer: SqliteLogWriter = self.log.writer(IDENTITY)
        self.visible: list[str] = []
        self.pieces: list[str] = []
        self.position: int | None = None
        self.made = 0
        self.tail = 1
        self.acked = 0

    def _make(self, count: int, *, closes: bool) -> None:
        index = len(self.pieces)
        tx_id = self.made - index + 1
        events = inserts(
            self.made + 1, count, tx_id=tx_id, first_index=index, closes_transaction=closes
        )
        self.made += count
        self.writer.append(source_batch(events, self.made))
        self.pieces += events.column("offset").to_pylist()

    @rule(count=st.integers(1, 5))
    def commit(self, count: int) -> None:
        self._make(count, closes=True)
        self.visible += self.pieces
        self.pieces, self.position = [], self.made

    @rule(count=st.integers(1, 5))
    def keep_a_piece(self, count: int) -> None:
        self._make(count, closes=False)

    @rule()
    def crash(self) -> None:
        self.writer.close()
        self.writer = self.log.writer(IDENTITY)
        self.pieces = []

    @precondition(lambda self: not self.pieces)
    @rule()
    def move_without_events(self) -> None:
        self.made += 1
        self.writer.append(source_batch(EventBatch.concat([]), self.made))
        self.position = self.made

    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        low = max(self.acked, self.tail - 1)
        self.acked = data.draw(st.integers(low, len(self.visible)))
        self.log.cursor("reader", required=True).ack(self.acked)

    @rule()
    def retain(self) -> None:
        if self.acked == 0:
            return
        self.tail = self.log.retain(RetentionPolicy(max_age_ms=0)).tail
        assert self.tail <= self.acked + 1

    @invariant()
    def agrees_with_the_model(self) -> None:
        reader = self.log.reader()
        assert (reader.bounds().tail, reader.bounds().head) == (self.tail, len(self.visible))
        stored = EventBatch.concat(list(reader.read(self.tail - 1)))
        assert stored.column("offset").to_pylist() == self.visible[self.tail - 1 :]
        numbers = stored.column("sequence_number").to_pylist()
        assert numbers == list(range(self.tail, len(self.visible) + 1))
        expected = None if self.position is None else Position({"change": self.position})
        assert self.writer.position == expected
        reader.close()

    def teardown(self) -> None:
        self.writer.close()
        self.folder.cleanup()


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
