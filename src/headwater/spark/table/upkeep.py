"""What a table of any format tells of its files, and what can be done for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.modes import Mode


@dataclass(frozen=True, slots=True)
class Files:
    """How many data files a table has, and how large they are together."""

    count: int
    bytes: int

    def surplus(self, target_bytes: int) -> int:
        """How many files there are beyond twice as many as it would take."""
        return self.count - 2 * self.ideal(target_bytes)

    def ideal(self, target_bytes: int) -> int:
        """How many files it would take."""
        return max(-(-self.bytes // target_bytes), 1)


@dataclass(frozen=True, slots=True)
class WriteCost:
    """What the last commit wrote, data and marks of rows that are gone, and what it changed.

    `row_bytes` is what a row takes in the files that the commit wrote, or marked if it wrote none.
    """

    written_bytes: int
    changed_rows: int
    row_bytes: float

    @property
    def amplification(self) -> float:
        """Bytes written for every byte of the rows that changed.

        Rows alone would not tell: where they are marked none is copied, but a file's marks are all
        written again with each one that is added.
        """
        if not self.written_bytes:
            return 0.0
        return self.written_bytes / (max(self.changed_rows, 1) * self.row_bytes)


class Upkeep(Protocol):
    """One table, looked after between the batches of its only writer."""

    def files(self) -> Files:
        """What the newest version consists of."""
        ...

    def last_cost(self) -> WriteCost | None:
        """The price of the newest commit; None if it moved no rows, or does not tell how many."""
        ...

    def compact(self, target_bytes: int, spare: int = 0) -> None:
        """Write small files together; no row changes.

        There may be `spare` files beyond twice as many as it takes, if that makes it quicker.
        """
        ...

    def expired_at(self) -> float:
        """When `expire` was last done, in seconds since 1970, or what there is began to be."""
        ...

    def expire(self, older_than_s: int) -> None:
        """Remove what only versions older than this need."""
        ...


class Upkeeps(Protocol):
    """The same lake as Targets, from the side of its files."""

    def upkeep(self, session: SparkSession, table: TableId, mode: Mode) -> Upkeep:
        """The table that keeps a source table in a mode; it exists."""
        ...
