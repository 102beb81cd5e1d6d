"""format("headwater") on a real Spark: the same rows, whole transactions, the cursor."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.app.spark import TableJob
from headwater.errors import HeadwaterError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.spark.query import StreamPlan, start
from headwater.spark.source.frame import SPARK_DDL, to_spark
from headwater.testing.builders import IDENTITY, inserts, source_batch

pytestmark = pytest.mark.spark


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    """Ten transactions of ten events; the fifth is stored in two pieces."""
    log = SqliteLog.create(tmp_path / "events.hwlog")
    writer = log.writer(IDENTITY)
    for number in range(10):
        first = number * 10 + 1
        if number == 4:
            piece = inserts(first, 6, tx_id=number, closes_transaction=False)
            writer.append(source_batch(piece, 0))
            writer.append(source_batch(inserts(first + 6, 4, tx_id=number, first_index=6), first))
        else:
            writer.append(source_batch(inserts(first, 10, tx_id=number), first))
    writer.close()
    return log


def _load(spark: SparkSession, log: SqliteLog, **options: Any) -> DataFrame:
    return spark.read.format("headwater").options(**options).load(str(log.path))


def test_batch_read_gives_every_event_with_every_column(
    spark: SparkSession, log: SqliteLog
) -> None:
    rows = _load(spark, log).orderBy("sequence_number").collect()
    events = list(EventBatch.concat(list(log.reader().read(0))))
    assert len(rows) == len(events) == 100
    for row, event in zip(rows, events, strict=True):
        assert row["sequence_number"] == event.sequence_number
        assert row["event_id"] == str(event.event_id)
        assert (row["op"], row["table"], row["schema"]) == (event.op.label, event.table, None)
        assert json.loads(row["after"]) == event.after
        assert row["source"]["offset"] == event.source.offset
        assert row["transaction"]["event_index"] == event.transaction.event_index  # type: ignore[union-attr]
        assert row["ts"].timestamp() * 1000 == pytest.approx(event.ts_ms)


def test_batch_read_takes_ranges_tables_and_many_partitions(
    spark: SparkSession, log: SqliteLog
) -> None:
    some = _load(spark, log, startingSequence=15, endingSequence=37, partitions=5)
    assert sorted(row[0] for row in some.select("sequence_number").collect()) == [*range(16, 38)]
    assert _load(spark, log, tables="ITE*").count() == 100
    assert _load(spark, log, tables="other,it?").count() == 0
    assert _load(spark, log, startingSequence=100).count() == 0


def test_frame_has_exactly_the_arrow_schema_that_spark_demands(log: SqliteLog) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    (batch, *_) = log.reader().read(0)
    declared = StructType.fromDDL(SPARK_DDL)
    assert isinstance(declared, StructType)
    wanted = to_arrow_schema(declared, timezone="UTC")
    assert to_spark(batch).schema.equals(wanted)


def test_stream_cuts_at_transactions_and_moves_the_cursor_behind(
    spark: SparkSession, log: SqliteLog, tmp_path: Path
) -> None:
    """INV-7: 25 events per trigger end at 20, and a transaction in two pieces is never cut."""
    TableJob(log.path, str(tmp_path / "lake")).start(spark).stop()  # registers the source
    ends: list[tuple[int, int]] = []

    def record(frame: DataFrame, batch_id: int) -> None:
        numbers = sorted(row[0] for row in frame.select("sequence_number").collect())
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), batch_id
        ends.append((numbers[0], numbers[-1]))

    plan = StreamPlan(str(log.path), str(tmp_path / "checkpoint"), consumer="reader", max_events=25)
    stream = start(spark, plan, record)
    stream.wait()
    assert ends == [(1, 20), (21, 40), (41, 60), (61, 80), (81, 100)]
    assert stream.sequence == 100
    # Spark commits a batch when it plans the next one: the cursor stays one batch behind.
    assert log.cursor("reader").acked == 80


def test_stream_refuses_another_log_than_its_checkpoint_knows(
    spark: SparkSession, log: SqliteLog, tmp_path: Path
) -> None:
    """INV-9: the same path with another log is a gap, not a continuation."""
    job = TableJob(log.path, str(tmp_path / "lake"), table_format="parquet")
    job.run_once(spark)
    for side in tmp_path.glob("events.hwlog*"):
        side.unlink()
    writer = SqliteLog.create(log.path).writer(IDENTITY)
    writer.append(source_batch(inserts(1, 300), 300))
    writer.close()
    with pytest.raises(HeadwaterError) as caught:
        job.run_once(spark)
    assert caught.value.code == "spark-other-log"
