"""Records of a topic to tables: what their headers say of the log and its tables is learnt first.

A topic has one partition, so that its order is the log's. A record that comes twice, because a
writer tried again, is taken once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import ConfigError, GapError
from headwater.event import TableId, TableSchema
from headwater.spark.apply.tables import Apply
from headwater.spark.gateway.files import Files
from headwater.spark.table.claim import claim

LOG, SCHEMA, SEQUENCE = "headwater-log", "headwater-schema", "headwater-sequence"
# With an underscore: what reads the folder as text does not see it.
_LOG_MARK = "_log-"


class Shapes:
    """Shapes of tables by id, kept in a folder of the lake. Implements contract.TableHistory.

    Each is kept with the number of the first record that told it: the order in which tables had
    them matters. The log is kept with them: numbers of another one would be taken for its own.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[int, tuple[int, TableSchema]] | None = None

    def claim(self, session: SparkSession, log_id: str) -> None:
        """Let the folder be this log's."""
        claim(Files(session, self._folder), self._folder, _LOG_MARK, log_id)

    def learn(self, session: SparkSession, told: Mapping[str, int]) -> None:
        """Keep what is new, durably: later records only name it. Each comes with its number."""
        known = self._load(session)
        fresh = {}
        for definition, first in told.items():
            shape = _shape(definition)
            if shape.schema_id not in known:
                fresh[shape.schema_id] = (first, shape)
        if fresh:
            rows = [(f"{first} {shape.encode()}",) for first, shape in fresh.values()]
            frame = session.createDataFrame(rows, "value string").coalesce(1)
            frame.write.mode("append").text(self._folder)
            known.update(fresh)

    def _load(self, session: SparkSession) -> dict[int, tuple[int, TableSchema]]:
        if self._known is None:
            try:
                rows = session.read.text(self._folder).collect()
            except AnalysisException as exc:
                if exc.getCondition() != "PATH_NOT_FOUND":
                    raise
                rows = []
            parts = [row[0].partition(" ") for row in rows]
            shapes = [(int(first), _shape(text)) for first, _, text in parts]
            self._known = {shape.schema_id: (first, shape) for first, shape in shapes}
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
        return found[1]

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions with the number of the record that first told each, in that order."""
        return tuple(sorted((self._known or {}).values(), key=lambda each: each[0]))

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
    tables: Callable[[SparkSession, str], Apply]
    _made: dict[str, Apply] = field(default_factory=dict)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Learn what the headers say, then apply the events."""
        told = self._told(frame)
        if told is None:
            return
        log_id, shapes = told
        if log_id not in self._made:
            self.shapes.claim(frame.sparkSession, log_id)
        self.shapes.learn(frame.sparkSession, shapes)
        if log_id not in self._made:
            self._made[log_id] = self.tables(frame.sparkSession, log_id)
        self._made[log_id](events_once(self.decode(frame)), batch_id)

    def _told(self, frame: DataFrame) -> tuple[str, dict[str, int]] | None:
        """The log, and each shape that is told with the number of the first record that does."""
        said = {name: _header(name) for name in (LOG, SCHEMA, SEQUENCE)}
        rows = (
            frame.select("partition", *(value.alias(name) for name, value in said.items()))
            .groupBy("partition", LOG, SCHEMA)
            .agg(f.min(f.col(SEQUENCE).cast("bigint")).alias("first"))
            .where(f.col(LOG).isNotNull())
            .collect()
        )
        if any(row["partition"] for row in rows):
            raise ConfigError(
                "spark-topic", "the topic has several partitions, and a log one order"
            )
        logs = {row[LOG] for row in rows}
        if len(logs) > 1:
            raise GapError("spark-other-log", f"the topic holds records of {len(logs)} logs")
        if not logs:
            return None
        return logs.pop(), {row[SCHEMA]: row["first"] for row in rows if row[SCHEMA] is not None}


def _header(name: str) -> Column:
    """What the first header of that name says, as text; NULL if there is none."""
    same = f.filter("headers", lambda each: each["key"] == name)
    return f.try_element_at(same, f.lit(1))["value"].cast("string")


def _shape(text: str) -> TableSchema:
    return TableSchema.from_dict(json.loads(text))
