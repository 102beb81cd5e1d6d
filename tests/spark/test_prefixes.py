"""Every set of tables that was published is what the source had told by then, and no more.

A history is applied in small micro-batches. Whatever a reader can ever see of it is a set that was
published after one of them; here all of those are read, not the last alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.app.spark import TableFormat, TableJob, as_of
from headwater.app.spark.meter import SparkMeter
from headwater.event import Event, Operation, TableId, TableSchema
from headwater.log import SqliteLog
from headwater.spark.apply.report import Reports
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.modes import MODES, Mode
from headwater.spark.state.store import store_of
from headwater.spark.state.table import StateTable, Writer
from headwater.spark.table.layout import PREFIX
from headwater.testing.history.changes import ORDERS
from headwater.testing.history.log import History
from headwater.testing.history.oracle import Oracle
from headwater.testing.kept import compared
from headwater.testing.scripted import MemoryMetrics
from tests.chaos.failpoints import FULL
from tests.spark.permuted import SEEDS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600 if FULL else 900)]

# By default one table as it is and as it was, and few sets, because CI's time is short.
KEPT = "*" if FULL else "orders"
KEPT_AS: tuple[Mode, ...] = MODES if FULL else ("mirror", "scd2")
TRANSACTIONS, AT_ONCE = (14, 1) if FULL else (8, 4)
# The first of these histories has everything for the one table.
HISTORIES = [seed + 1 for seed in SEEDS]
EVERYTHING = {
    *("read", "insert", "update", "delete", "truncate"),
    *("moved", "partial", "moved and partial", "another shape"),
}


class Heard:
    """An oracle for each table; they hear the log in order, up to wherever they are asked to."""

    def __init__(self, log: SqliteLog) -> None:
        self._reader = log.reader()
        self._known = {schema.schema_id: schema for _, schema in self._reader.schemas()}
        self._shapes = {number: names(schema) for number, schema in self._known.items()}
        self._until = 0
        self.schemas: dict[TableId, TableSchema] = {}
        self.oracles: dict[TableId, Oracle] = {}
        self.told: set[tuple[TableId, str]] = set()

    def hear(self, until: int) -> None:
        """All that is told up to there, and each table in the shape that it has then."""
        for batch in self._reader.read(self._until, until):
            for event in batch:
                schema = self._known[event.schema_id]
                self.told |= {(schema.table, each) for each in self._what(event, schema)}
                oracle = self.oracles.setdefault(schema.table, Oracle((), self._shapes))
                oracle.names, self.schemas[schema.table] = names(schema), schema
                oracle.hear(event)
        self._until = until

    def _what(self, event: Event, schema: TableSchema) -> list[str]:
        moved = event.op is Operation.UPDATE and event.old_key() not in (None, event.key())
        partial = bool(event.unavailable_columns)
        said = {
            event.op.label: True,
            "moved": moved,
            "partial": partial,
            "moved and partial": moved and partial,
            "another shape": self.schemas.get(schema.table, schema) != schema,
        }
        return [what for what, is_so in said.items() if is_so]


def names(schema: TableSchema) -> tuple[str, ...]:
    return tuple(column.name for column in schema.columns)


@pytest.mark.parametrize("seed", HISTORIES)
def test_every_published_set_is_what_was_told_up_to_its_event(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat, seed: int
) -> None:
    """INV-7, INV-10: whatever rows and columns do, and though files may be compacted meanwhile."""
    history = History(tmp_path / "history.hwlog", seed, TRANSACTIONS)
    metrics = MemoryMetrics()
    job = TableJob(
        history.path,
        str(tmp_path / "lake"),
        table_format,
        tables=(KEPT,),
        modes=dict.fromkeys(KEPT_AS, (KEPT,)),
        maintenance=KeepPolicy(surplus=-1 if FULL else 32, retain_s=None),
        reports=Reports(SparkMeter(metrics)),
    )
    history.grow(2)
    heads = [job.run_once(spark)]
    while history.left:
        history.grow(AT_ONCE)
        heads.append(job.run_once(spark))
    assert heads[-1] == history.ends[-1]
    published, passed_over = _state(spark, job, history.log)
    assert published == heads
    assert passed_over == (set() if FULL else {heads[0]})
    heard = Heard(history.log)
    for sequence in published:
        heard.hear(sequence)
        _assert_is_what_was_told(spark, job, heard, sequence)
    if seed == HISTORIES[0]:
        met = {what for table, what in heard.told if FULL or table == ORDERS.table}
        assert met == EVERYTHING
    compacted = metrics.counters.get("headwater_spark_compactions_total", 0)
    assert compacted >= (len(heads) - 1 if FULL else 0)
    assert "headwater_spark_maintenance_failures_total" not in metrics.counters
    history.close()


def _state(spark: SparkSession, job: TableJob, log: SqliteLog) -> tuple[list[int], set[int]]:
    """At which events sets were published, and tables first seen that are not kept."""
    assert job.table_format != "parquet"
    store = store_of(job.table_format, spark, job.location)
    state = StateTable(store, Writer(log.reader().log_id, job.consumer))
    found = state.rows().where(f.col("published")).select("sequence").distinct().collect()
    left = {each.sequence for each in state.written().last if each.is_left}
    return sorted(row["sequence"] for row in found), left


def _assert_is_what_was_told(
    spark: SparkSession, job: TableJob, heard: Heard, sequence: int
) -> None:
    found = as_of(spark, job.target, sequence)
    assert found.sequence == sequence
    kept = {(str(table), mode): table for table in heard.oracles for mode in job.kept().of(table)}
    assert {(each.table, each.mode) for each in found.tables} == kept.keys()
    for (name, mode), table in kept.items():
        frame, schema = found.frame(name, mode), heard.schemas[table]
        shown = {each for each in frame.columns if not each.startswith(PREFIX)}
        assert shown == {*names(schema)}, (sequence, name, mode)
        differing = compared(frame, schema, mode, heard.oracles[table])
        assert not differing, f"{name} as {mode} at event {sequence}: {differing}"
