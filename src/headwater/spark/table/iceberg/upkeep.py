"""An Iceberg table's files: its own procedures, and the figures in the summary of a snapshot."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from headwater.failpoint import failpoint
from headwater.spark.sql import literal
from headwater.spark.table.iceberg.catalog import Address
from headwater.spark.table.iceberg.metadata import history_of, load
from headwater.spark.table.upkeep import Files, WriteCost

# Deletes that a reader has to apply to one file, from which on it is written again without them.
_MOST_DELETES = 8


class IcebergUpkeep:
    """Implements Upkeep for a table in a catalog."""

    def __init__(self, session: SparkSession, address: Address) -> None:
        self._session = session
        self._name = address.name

    def files(self) -> Files:
        """What the current snapshot consists of; Iceberg counts as it commits."""
        newest = self._summary()
        return Files(_number(newest, "total-data-files"), _number(newest, "total-files-size"))

    def last_cost(self) -> WriteCost | None:
        """The price of the newest commit. Rows that are gone are marked, so no row is copied.

        None for a table that somebody has set to copy files: it does not tell which rows changed.
        """
        newest = self._summary()
        added, marked = (
            _number(newest, name) for name in ("added-records", "added-position-deletes")
        )
        if _number(newest, "deleted-data-files") or not added + marked:
            return None
        return WriteCost(max(added, marked), 0)

    def compact(self, target_bytes: int, spare: int = 0) -> None:
        """Write files below half the target size together, without the rows that are gone."""
        del spare
        catalog = self._name.partition(".")[0]
        options = {
            "target-file-size-bytes": target_bytes,
            "min-file-size-bytes": target_bytes // 2,
            "max-file-size-bytes": target_bytes * 9 // 5,
            "min-input-files": 2,
            "delete-file-threshold": _MOST_DELETES,
            "remove-dangling-deletes": "true",
        }
        listed = ", ".join(f"{literal(name)}, {literal(str(v))}" for name, v in options.items())
        table = f"table => {literal(self._name)}"
        failpoint("spark.keep.before_compact")
        self._session.sql(
            f"CALL {catalog}.system.rewrite_data_files({table}, options => map({listed}))"
        )
        self._session.sql(f"CALL {catalog}.system.rewrite_position_delete_files({table})")
        failpoint("spark.keep.after_compact")

    def expired_at(self) -> float:
        """When the oldest snapshot was made: to look for old ones takes no more than metadata."""
        kept = history_of(self._session, load(self._session, self._name)).snapshots
        made = (int(each["timestamp-ms"]) / 1000 for each in kept.values())
        return min(made, default=time.time())

    def expire(self, older_than_s: int) -> None:
        """Remove snapshots of that age, and the files that only they need.

        The position outlives its snapshot in the properties.
        """
        failpoint("spark.keep.before_expire")
        until = time.time_ns() // 1_000_000 - older_than_s * 1000
        load(self._session, self._name).expireSnapshots().expireOlderThan(until).commit()

    def _summary(self) -> Mapping[str, str]:
        return history_of(self._session, load(self._session, self._name)).newest


def _number(summary: Mapping[str, str], name: str) -> int:
    return int(summary.get(name, 0))
