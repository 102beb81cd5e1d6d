"""format("headwater") on a real Spark: the same rows, whole transactions, the cursor."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from headwater.app.spark import TableJob
from headwater.errors import HeadwaterError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.spark.query import StreamPlan, start
from headwater.spark.source.frame import SPARK_DDL, to_spark
from headwater.testing.builders import IDENTITY, TS_MS, inserts, source_batch

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


def _numbers(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.select("sequence_number").collect())


def test_batch_read_takes_ranges_tables_and_many_partitions(
    spark: SparkSession, log: SqliteLog
) -> None:
    some = _load(spark, log, startingSequence=15, endingSequence=37, partitions=5)
    assert _numbers(some) == [*range(16, 38)]
    assert some.select(spark_partition_id()).distinct().count() == 3
    assert _load(spark, log, tables="ITE*").count() == 100
    assert _load(spark, log, tables="other,it?").count() == 0
    assert _load(spark, log, startingSequence=100).count() == 0
    # Times and positions: what one read leaves to the next begins with a whole transaction.
    at = f"{datetime.fromtimestamp((TS_MS + 45) / 1000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    assert _numbers(_load(spark, log, endingTime=at)) == [*range(1, 41)]
    assert _numbers(_load(spark, log, startingTime=at, endingSequence=55)) == [*range(41, 56)]
    assert _numbers(_load(spark, log, startingPosition="change:97")) == [98, 99, 100]


def test_filters_are_pushed_where_a_read_asks_for_it(spark: SparkSession, log: SqliteLog) -> None:
    condition = (
        "sequence_number > 15 and ts < to_timestamp('2023-11-14T22:13:20.090Z') and table = 'items'"
        " and op in ('insert', 'read') and after like '%5%'"
    )
    pushed, plain = _load(spark, log, pushFilters="true"), _load(spark, log)
    kept = [number for number in range(16, 90) if "5" in f"{number}"]
    for frame, left in ((pushed, ["after"]), (plain, ["sequence_number", "ts", "table", "op"])):
        chosen = frame.where(condition)
        plan = str(chosen._jdf.queryExecution().executedPlan())
        (judged,) = [line for line in plan.splitlines() if " Filter " in line]
        assert all(f"{name}#" in judged for name in left)
        assert ("sequence_number#" in judged) is (frame is plain)
        assert _numbers(chosen) == kept
    # A frame that pushes nothing serves any number of queries: Spark keeps what one has pushed.
    assert plain.count() == plain.union(plain.where("op = 'read'")).count() == 100


def test_wrong_option_is_told_by_load(spark: SparkSession, log: SqliteLog) -> None:
    with pytest.raises(AnalysisException, match=r"\[spark-option\] there is no option startingseq"):
        _load(spark, log, startingSequenz=3)
    with pytest.raises(AnalysisException, match=r"\[spark-option\] the option path is missing"):
        spark.read.format("headwater").load()


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


def _as_if_killed_in_the_first_batch(checkpoint: Path) -> None:
    """The batch with rows was the first: its end is written down, and its commit is not."""
    shutil.rmtree(checkpoint / "commits")
    offsets = checkpoint / "offsets"
    (offsets / "1").rename(offsets / "0")
    for checksum in offsets.glob(".*.crc"):
        checksum.unlink()


def test_stream_admits_rows_and_bytes_tells_its_lag_and_repeats_its_first_batch(
    spark: SparkSession, log: SqliteLog, tmp_path: Path
) -> None:
    """The smaller limit wins; a first batch that began at `latest` begins there again."""
    size = max(run.bytes for run in log.reader().segments(0, 100))
    writer = log.writer(IDENTITY)

    def begin(start: str, checkpoint: Path, **trigger: Any) -> StreamingQuery:
        reader = spark.readStream.format("headwater").option("startingSequence", start)
        reader = reader.option("maxRowsPerTrigger", 30).option("maxBytesPerTrigger", 2 * size + 9)
        frames = reader.load(str(log.path)).writeStream.format("noop").trigger(**trigger)
        return frames.option("checkpointLocation", str(checkpoint)).start()

    def seen(query: StreamingQuery) -> list[tuple[int, int, int | None]]:
        """Rows, end and head of the micro-batches that had rows; a repeated one has no head."""
        sources = [progress.sources[0] for progress in query.recentProgress]
        places = [(json.loads(each.endOffset), json.loads(each.latestOffset)) for each in sources]
        return [
            (each.numInputRows, end["sequence"], head and head["sequence"])
            for each, (end, head) in zip(sources, places, strict=True)
            if each.numInputRows
        ]

    query = begin("40", tmp_path / "limits", availableNow=True)
    query.awaitTermination()
    assert seen(query) == [(10, 50, 100), (20, 70, 100), (20, 90, 100), (10, 100, 100)]

    query = begin("latest", tmp_path / "latest", processingTime="0 seconds")
    query.processAllAvailable()
    writer.append(source_batch(inserts(101, 10, tx_id=10), 101))
    query.processAllAvailable()
    query.stop()
    _as_if_killed_in_the_first_batch(tmp_path / "latest")
    writer.append(source_batch(inserts(111, 10, tx_id=11), 111))
    query = begin("latest", tmp_path / "latest", availableNow=True)
    query.awaitTermination()
    assert seen(query) == [(10, 110, None), (10, 120, 120)]
    writer.close()


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
