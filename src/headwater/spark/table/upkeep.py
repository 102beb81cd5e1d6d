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
    """What the last commit changed, and what it had to write again for that."""

    changed_rows: int
    copied_rows: int

    @property
    def amplification(self) -> float:
        """Rows written for every row changed."""
        return (self.changed_rows + self.copied_rows) / max(self.changed_rows, 1)


class Upkeep(Protocol):
    """One table, looked after between the batches of its only writer."""

    def files(self) -> Files:
        """What the newest version consists of."""
        ...

    def last_cost(self) -> WriteCost | None:
        """The price of the newest commit; None if it moved no rows."""
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
