"""The Delta table `headwater_state`, below the target beside Spark's checkpoint.

A row per table and mode that a batch changed; a table without a row in a batch stands as its last
row says. A batch that changed no table has one row without a table. The rows of a batch are one
commit, which carries the batch's end as the tables' commits do (`txnVersion`), so a batch that is
repeated writes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from headwater.event import TableId
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.state.entry import Entry
from headwater.spark.table.delta import DeltaTarget
from headwater.spark.table.target import Standing

COLUMNS = {
    "sequence": "bigint",
    "schema": "string",
    "table": "string",
    "mode": "string",
    "path": "string",
    "version": "bigint",
    "applied": "bigint",
    "published": "boolean",
    "committed_at": "timestamp",
    "applied_at": "timestamp",
    "log": "string",
    "consumer": "string",
}
_TIMES = ("committed_at", "applied_at")
_NULL = "CAST(NULL AS STRING)"


def state_path(location: str) -> str:
    """Where the state of a lake is."""
    return f"{location.rstrip('/')}/_headwater/state"


@dataclass(frozen=True, slots=True)
class Writer:
    """Whose rows they are: sequence numbers of different logs mean different events."""

    log_id: str
    consumer: str

    @property
    def app_id(self) -> str:
        """The name that commits carry."""
        return f"headwater:{self.log_id}:{self.consumer}"


class StateTable:
    """The rows of one writer."""

    def __init__(self, session: SparkSession, location: str, writer: Writer) -> None:
        self._session = session
        self._path = state_path(location)
        self._writer = writer
        self._delta = DeltaTarget(session, self._path, writer.app_id)

    def standing(self) -> Standing:
        """The table's version, None if there is none, and the last batch that this writer wrote."""
        return self._delta.standing()

    def rows(self) -> DataFrame:
        """The rows of this writer; one frame shows one version of the table, however often read."""
        held = self._session.read.format("delta").load(self._path)
        ours = (f.col("log") == self._writer.log_id) & (f.col("consumer") == self._writer.consumer)
        return held.where(ours)

    def last(self, until: int | None = None) -> list[Entry]:
        """The last entry of each table, of those up to `until` if it is given."""
        if self.standing().version is None:
            return []
        return last_entries(self.rows(), until)

    def append(self, entries: Sequence[Entry], until: int, *, published: bool) -> None:
        """Write the rows of the batch that ends at `until`, unless they have been written."""
        self._create()
        # Literals, not Python rows: a local relation needs no tasks to be made.
        told = [self._values(entry) for entry in entries]
        if not any(entry.sequence == until for entry in entries):
            told.append(self._bare(until, published=published))
        values = ", ".join(f"({', '.join(row)})" for row in told)
        names = ", ".join(map(quoted, COLUMNS))
        rows = self._session.sql(f"SELECT * FROM VALUES {values} AS t({names})")
        (
            rows.coalesce(1)
            .write.format("delta")
            .mode("append")
            .option("txnAppId", self._writer.app_id)
            .option("txnVersion", until)
            .option("userMetadata", json.dumps({"headwater": {"sequence": until}}))
            .save(self._path)
        )

    def _create(self) -> None:
        if self.standing().version is None:
            # Each batch adds a small file; without compaction a reader would open them all.
            self._session.sql(
                f"CREATE TABLE IF NOT EXISTS delta.{quoted(self._path)} ({column_list(COLUMNS)})"
                " USING delta TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')"
            )

    def _values(self, entry: Entry) -> list[str]:
        schema = entry.table.schema
        return [
            f"{entry.sequence}L",
            _NULL if schema is None else literal(schema),
            *map(literal, (entry.table.name, entry.mode, entry.path)),
            *(f"{entry.version}L", f"{entry.applied}L", str(entry.published).lower()),
            *(f"timestamp_micros({us})" for us in (entry.committed_at_us, entry.applied_at_us)),
            *self._signed(),
        ]

    def _bare(self, until: int, *, published: bool) -> list[str]:
        """The row of a batch that changed no table."""
        nothing = (_NULL, _NULL, _NULL, _NULL, "CAST(NULL AS BIGINT)", "CAST(NULL AS BIGINT)")
        times = ("CAST(NULL AS TIMESTAMP)", f"timestamp_micros({time.time_ns() // 1000})")
        return [f"{until}L", *nothing, str(published).lower(), *times, *self._signed()]

    def _signed(self) -> list[str]:
        return [literal(self._writer.log_id), literal(self._writer.consumer)]


def last_entries(rows: DataFrame, until: int | None = None) -> list[Entry]:
    """The last entry of each table among the rows."""
    tables = rows.where(f.col("table").isNotNull())
    within = tables if until is None else tables.where(f.col("sequence") <= until)
    micros = [f.unix_micros(name).alias(name) for name in _TIMES]
    plain = [name for name in COLUMNS if name not in _TIMES]
    newest = within.groupBy("schema", "table", "mode").agg(
        f.max_by(f.struct(*plain, *micros), "sequence").alias("entry")
    )
    return [_entry(row["entry"]) for row in newest.collect()]


def _entry(row: Row) -> Entry:
    return Entry(
        sequence=row["sequence"],
        table=TableId(row["schema"], row["table"]),
        mode=cast(Mode, row["mode"]),
        path=row["path"],
        version=row["version"],
        applied=row["applied"],
        published=row["published"],
        committed_at_us=row["committed_at"],
        applied_at_us=row["applied_at"],
    )
