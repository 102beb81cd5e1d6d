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
        """The price of the newest commit, from the summary of its snapshot.

        None for a table that somebody has set to copy files: it does not tell which rows changed.
        How many did is the least that it can be: a row marked and one added are one changed row.
        """
        newest = self._summary()
        rows, marks, were = (
            _number(newest, name)
            for name in ("added-records", "added-position-deletes", "removed-position-deletes")
        )
        if _number(newest, "deleted-data-files") or not rows + marks:
            return None
        written = _number(newest, "added-files-size")
        row_bytes = self._bytes_added(newest) / rows if rows else _standing_row_bytes(newest)
        return WriteCost(written, max(rows, marks - were), row_bytes)

    def _bytes_added(self, newest: Mapping[str, str]) -> int:
        """Of data alone: a summary has one size for data and marks, so the manifests are read."""
        if not _number(newest, "added-delete-files"):
            return _number(newest, "added-files-size")
        table = load(self._session, self._name)
        added = table.currentSnapshot().addedDataFiles(table.io()).iterator()
        return sum(int(each.fileSizeInBytes()) for each in added)

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


def _standing_row_bytes(newest: Mapping[str, str]) -> float:
    """What a row takes in the whole table, for a commit that only marked some."""
    return _number(newest, "total-files-size") / max(_number(newest, "total-records"), 1)
