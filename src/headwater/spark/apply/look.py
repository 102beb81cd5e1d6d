"""How a stream finds out what a micro-batch holds, before it does anything with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import DataFrame

from headwater.contract import LogReader, SchemaHistory
from headwater.event import TableId
from headwater.spark.change.contents import Contents, Told, contents, gathered
from headwater.spark.change.telling import together, told_in
from headwater.spark.checkpoint.folder import CheckpointFolder

_MANY_EVENTS = 100_000


class Look(Protocol):
    """Looks through a micro-batch."""

    def __call__(self, frame: DataFrame, batch_id: int) -> Contents:
        """What it holds."""
        ...

    def late(self, frame: DataFrame, table: TableId, between: tuple[int, int]) -> Contents:
        """What a range that the stream has passed holds of one table; the frame has no others."""
        ...


@dataclass(frozen=True, slots=True)
class FrameLook:
    """Implements Look by a pass over the frame, which is kept for those who read it next."""

    history: SchemaHistory

    def __call__(self, frame: DataFrame, batch_id: int) -> Contents:
        """What the frame holds."""
        del batch_id
        return contents(frame.persist(), self.history)

    def late(self, frame: DataFrame, table: TableId, between: tuple[int, int]) -> Contents:
        """What the frame holds."""
        del table, between
        return contents(frame.persist(), self.history)


@dataclass(frozen=True, slots=True)
class LogLook:
    """Implements Look from the log itself, which takes no Spark job.

    Spark planned the batch as a range of the log and wrote that down in its checkpoint. The range
    says more than the frame: its last events may be of tables that nobody keeps. Of a large range
    another reader, which `beside` opens, looks through a half. `drops` asks for tables that went.
    """

    reader: LogReader
    checkpoint: str
    tables: Sequence[str] = ()
    beside: Callable[[], LogReader] | None = None
    drops: bool = False

    def __call__(self, frame: DataFrame, batch_id: int) -> Contents:
        """What the batch's range of the log holds of the tables that are read."""
        folder = CheckpointFolder(frame.sparkSession, self.checkpoint)
        planned = folder.range_of(batch_id)
        if planned is not None:
            return self._within(planned, begin=planned[0])
        seen, until = FrameLook(self.reader)(frame, batch_id), folder.end_of(batch_id)
        if until is None:
            return seen
        # Spark 4.1 does not say where the first batch begins: before all that the frame has.
        after = seen.after if seen.until else until
        return self._within((after, until), begin=self.reader.bounds().tail - 1)

    def _within(self, between: tuple[int, int], *, begin: int) -> Contents:
        """What a range holds of the tables that are read; of others it tells from `begin` on."""
        after, until = between
        told = self._told(after, until) if after < until else []
        before = self._told(begin, after) if begin < after else []
        kept = [each for each in told if self._is_read(each.table)]
        held = gathered(kept, self.reader, after, until)
        rows = {each.table for each in (*before, *told) if not (each.no_rows or each.dropped)}
        passed = (table for table in rows if not self._is_read(table))
        return replace(held, passed=tuple(passed))

    def _is_read(self, table: TableId) -> bool:
        return not self.tables or table.matches(self.tables)

    def late(self, frame: DataFrame, table: TableId, between: tuple[int, int]) -> Contents:
        """The same of a range, for one table."""
        del frame
        told = [each for each in self._told(*between) if each.table == table]
        return gathered(told, self.reader, *between)

    def _told(self, after: int, until: int) -> list[Told]:
        middle = (after + until) // 2
        if self.beside is None or until - after < _MANY_EVENTS:
            return told_in(self.reader.read(after, until), drops=self.drops)
        with closing(self.beside()) as other, ThreadPoolExecutor(1) as pool:
            second = pool.submit(told_in, other.read(middle, until), drops=self.drops)
            first = told_in(self.reader.read(after, middle), drops=self.drops)
            return together([*first, *second.result()])
