"""A log that a test fills, and the tables that are kept of it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headwater.log import SqliteLog
from headwater.spark.apply.tables import Tables
from headwater.spark.modes import Modes
from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.target import Targets
from headwater.testing.builders import IDENTITY
from tests.spark.letters import Letters


class Lake:
    """Micro-batches are cut by hand: by where the log stood before them."""

    modes = Modes()

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.log = SqliteLog.create(directory / "letters.hwlog")
        self.target = str(directory / "lake")
        self._writer = self.log.writer(IDENTITY)

    @property
    def head(self) -> int:
        return self._writer.head

    def targets(self, log_id: str) -> Targets:
        """The tables in their format."""
        return DeltaTargets(self.target, log_id)

    def append(self, letters: Letters) -> None:
        """Put what the table has told into the log."""
        for batch in letters.take():
            self._writer.append(batch)

    def apply(self, after: int) -> None:
        """What the log holds after a sequence number, as one micro-batch."""
        reader = self.log.reader()
        frame = self.spark.read.format("headwater").option("startingSequence", after)
        tables = Tables(self.targets(reader.log_id), reader, self.modes)
        tables(frame.load(str(self.log.path)), 0)
