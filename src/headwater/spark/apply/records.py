"""Records of a topic to tables: what their headers say of the log and its tables is learnt first.

A topic has one partition, so that its order is the log's. A record that comes twice, because a
writer tried again, is taken once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import ConfigError, GapError
from headwater.event import TableId, TableSchema
from headwater.spark.apply.tables import Apply

LOG, SCHEMA = "headwater-log", "headwater-schema"


class Shapes:
    """Shapes of tables by id, kept in a folder of the lake. Implements contract.TableHistory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[int, TableSchema] | None = None

    def learn(self, session: SparkSession, definitions: list[str]) -> None:
        """Keep what is new, durably: later records only name it."""
        known = self._load(session)
        fresh = {shape.schema_id: shape for shape in map(_shape, definitions)}
        fresh = {number: shape for number, shape in fresh.items() if number not in known}
        if fresh:
            rows = [(shape.encode(),) for shape in fresh.values()]
            frame = session.createDataFrame(rows, "value string").coalesce(1)
            frame.write.mode("append").text(self._folder)
            known.update(fresh)

    def _load(self, session: SparkSession) -> dict[int, TableSchema]:
        if self._known is None:
            try:
                rows = session.read.text(self._folder).collect()
            except AnalysisException as exc:
                if exc.getCondition() != "PATH_NOT_FOUND":
                    raise
                rows = []
            shapes = [_shape(row[0]) for row in rows]
            self._known = {shape.schema_id: shape for shape in shapes}
        return self._known

    def schema(self, schema_id: int) -> TableSchema:
        """The version with this id."""
        found = (self._known or {}).get(schema_id)
        if found is None:
            raise GapError(
                "spark-shape-unknown",
                f"no record so far has told the shape {schema_id} of a table",
                where=self._folder,
            )
        return found

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions; a topic does not say from when on each was used."""
        return tuple((0, shape) for shape in (self._known or {}).values())

    def owes(self, table: TableId, until: int) -> bool:
        """A topic does not say which rows are still to come: all go through the table's mode."""
        del table, until
        return False

    def loads(self) -> int:
        """A topic tells of no load."""
        return 0


def events_once(events: DataFrame) -> DataFrame:
    """Events that may have come twice, once: tables are told each event once per batch."""
    return events.dropDuplicates(["sequence_number"])


@dataclass(frozen=True, slots=True)
class Records:
    """Applies micro-batches of records, with their headers and partitions."""

    decode: Callable[[DataFrame], DataFrame]
    shapes: Shapes
    tables: Callable[[str], Apply]
    _made: dict[str, Apply] = field(default_factory=dict)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Learn what the headers say, then apply the events."""
        told = self._told(frame)
        if told is None:
            return
        log_id, definitions = told
        self.shapes.learn(frame.sparkSession, definitions)
        if log_id not in self._made:
            self._made[log_id] = self.tables(log_id)
        self._made[log_id](events_once(self.decode(frame)), batch_id)

    def _told(self, frame: DataFrame) -> tuple[str, list[str]] | None:
        header = f.explode("headers").alias("header")
        rows = (
            frame.select("partition", header)
            .where(f.col("header.key").isin(LOG, SCHEMA))
            .select("partition", "header.key", f.decode("header.value", "utf-8").alias("value"))
            .distinct()
            .collect()
        )
        if any(row["partition"] for row in rows):
            raise ConfigError(
                "spark-topic", "the topic has several partitions, and a log one order"
            )
        logs = {row["value"] for row in rows if row["key"] == LOG}
        if len(logs) > 1:
            raise GapError("spark-other-log", f"the topic holds records of {len(logs)} logs")
        if not logs:
            return None
        return logs.pop(), [row["value"] for row in rows if row["key"] == SCHEMA]


def _shape(text: str) -> TableSchema:
    return TableSchema.from_dict(json.loads(text))
