"""A log that a test fills, and the tables that are kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.contract import SnapshotProgress, SourceBatch
from headwater.event import EventBatch, Position, TableId
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

    def targets(self, target: str, log_id: str) -> Targets:
        """The tables in their format."""
        return DeltaTargets(target, log_id)

    def append(self, letters: Letters, owed: tuple[TableId, ...] | None = None) -> None:
        """Put what the table has told into the log; `owed` is a load that goes on or is over."""
        said: dict[str, Any] = {"owed": owed}
        if owed:
            said["progress"] = SnapshotProgress(str(owed[0]), 0, None, done=False)
        for batch in letters.take():
            self._writer.append(replace(batch, **said))

    def settle(self) -> None:
        """The load is over, and its last chunk was empty."""
        self._writer.append(SourceBatch(EventBatch.concat([]), Position({"n": 2}), owed=()))

    def frame(self, after: int, until: int | None = None) -> DataFrame:
        """What the log holds after a sequence number."""
        options = {"startingSequence": after, "endingSequence": until or self.head}
        reader = self.spark.read.format("headwater").options(**options)
        return reader.load(str(self.log.path))

    def tables(self, target: str | None = None) -> Tables:
        """What applies micro-batches, in a new process."""
        reader = self.log.reader()
        return Tables(self.targets(target or self.target, reader.log_id), reader, self.modes)

    def apply(self, after: int, target: str | None = None) -> None:
        """What the log holds after a sequence number, as one micro-batch of a new process."""
        self.tables(target)(self.frame(after), 0)
