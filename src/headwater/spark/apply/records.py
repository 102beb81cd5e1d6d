"""Records of a topic to tables: what their headers say of the log and its tables is learnt first.

A topic has one partition, so that its order is the log's. A record that comes twice, because a
writer tried again, is taken once.

Spark's offsets lead without a gap from one micro-batch to the next; before the first there is only
what the records say. Later holes in their numbers say nothing: events of other tables may have been
left out of the topic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import ConfigError, DataError, GapError
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
class Told:
    """The log of some records, their first event, and the first event that tells each shape."""

    log_id: str
    first: int
    shapes: Mapping[str, int]


# The last event of a log that any table of the target has.
Reached = Callable[[SparkSession, str], int]


@dataclass(frozen=True, slots=True)
class Records:
    """Applies micro-batches of records, with their headers and partitions.

    Without `reached` a topic may begin with any event.
    """

    decode: Callable[[DataFrame], DataFrame]
    shapes: Shapes
    tables: Callable[[SparkSession, str], Apply]
    reached: Reached | None = None
    _made: dict[str, Apply] = field(default_factory=dict)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Learn what the headers say, then apply the events."""
        told = self._told(frame)
        if told is None:
            return
        session, log_id = frame.sparkSession, told.log_id
        if log_id not in self._made:
            self.shapes.claim(session, log_id)
        if batch_id == 0:
            self._require_beginning(session, told)
        self.shapes.learn(session, told.shapes)
        if log_id not in self._made:
            self._made[log_id] = self.tables(session, log_id)
        self._made[log_id](events_once(self.decode(frame)), batch_id)

    def _require_beginning(self, session: SparkSession, told: Told) -> None:
        """Events before the first record are nowhere, unless a stream before this one took them.

        INV-9. Tables take each micro-batch together, so the one that is farthest tells for all.
        """
        if self.reached is None or told.first == 1:
            return
        reached = self.reached(session, told.log_id)
        if reached + 1 < told.first:
            raise GapError(
                "kafka-gap",
                f"the topic begins with event {told.first} of its log, and the tables have"
                f" none after event {reached}",
                hint="write the log to a new topic, with a new checkpoint of write_kafka; where"
                ' the events before may be missing: KafkaJob(..., on_gap="accept")',
            )

    def _told(self, frame: DataFrame) -> Told | None:
        """What the headers say; a tombstone of somebody else's is no event."""
        said = {name: _header(name) for name in (LOG, SCHEMA, SEQUENCE)}
        rows = (
            frame.where(f.col("value").isNotNull() | said[LOG].isNotNull())
            .select("partition", *(value.alias(name) for name, value in said.items()))
            .groupBy("partition", LOG, SCHEMA)
            .agg(
                f.min(f.col(SEQUENCE).cast("bigint")).alias("first"),
                f.bool_or(f.col(SEQUENCE).isNull()).alias("unnumbered"),
            )
            .collect()
        )
        if any(row["partition"] for row in rows):
            raise ConfigError(
                "spark-topic", "the topic has several partitions, and a log one order"
            )
        if any(row[LOG] is None or row["unnumbered"] for row in rows):
            raise DataError(
                "event-invalid",
                f"a record has no header {LOG} or {SEQUENCE}: Headwater did not write it",
            )
        logs = {row[LOG] for row in rows}
        if len(logs) > 1:
            raise GapError("spark-other-log", f"the topic holds records of {len(logs)} logs")
        if not logs:
            return None
        shapes = {row[SCHEMA]: row["first"] for row in rows if row[SCHEMA] is not None}
        return Told(logs.pop(), min(row["first"] for row in rows), shapes)


def _header(name: str) -> Column:
    """What the first header of that name says, as text; NULL if there is none."""
    same = f.filter("headers", lambda each: each["key"] == name)
    return f.try_element_at(same, f.lit(1))["value"].cast("string")


def _shape(text: str) -> TableSchema:
    return TableSchema.from_dict(json.loads(text))
