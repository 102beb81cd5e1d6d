"""How a stream finds out what a micro-batch holds, before it does anything with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from headwater.contract import LogReader, SchemaHistory
from headwater.spark.change.contents import Contents, contents, gathered
from headwater.spark.change.telling import told_in
from headwater.spark.checkpoint.folder import CheckpointFolder


class Look(Protocol):
    """Looks through a micro-batch."""

    def __call__(self, frame: DataFrame, batch_id: int | None) -> Contents:
        """What it holds; None is no batch of the stream, but events that it has passed."""
        ...


@dataclass(frozen=True, slots=True)
class FrameLook:
    """Implements Look by a pass over the frame, which is kept for those who read it next."""

    history: SchemaHistory

    def __call__(self, frame: DataFrame, batch_id: int | None) -> Contents:
        """What the frame holds."""
        del batch_id
        return contents(frame.persist(), self.history)


@dataclass(frozen=True, slots=True)
class LogLook:
    """Implements Look from the log itself, which takes no Spark job.

    Spark planned the batch as a range of the log and wrote that down in its checkpoint. The range
    says more than the frame: its last events may be of tables that nobody keeps.
    """

    reader: LogReader
    checkpoint: str
    tables: Sequence[str] = ()

    def __call__(self, frame: DataFrame, batch_id: int | None) -> Contents:
        """What the batch's range of the log holds of the tables that are read."""
        planned = None
        if batch_id is not None:
            planned = CheckpointFolder(frame.sparkSession, self.checkpoint).range_of(batch_id)
        if planned is None:
            return FrameLook(self.reader)(frame, batch_id)
        after, until = planned
        told = told_in(self.reader.read(after, until)) if after < until else []
        kept = [each for each in told if not self.tables or each.table.matches(self.tables)]
        return gathered(kept, self.reader, after, until)
