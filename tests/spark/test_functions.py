"""Functions on frames of events give what the capture process gives, on batches and on streams."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.app.cdc import CdcPlan
from headwater.app.config import CdcSettings
from headwater.contract import SourceBatch
from headwater.errors import ConfigError
from headwater.event import EventBatch, Position, TableId
from headwater.format.cdcformat.touched import touched_fields
from headwater.log import SqliteLog
from headwater.pipelines import (
    auto_cdc_source,
    changed_fields,
    dedup,
    entities,
    in_order,
    latest_per_key,
    of_table,
    route,
    transform,
    typed,
)
from headwater.runtime import WholeTransactions
from headwater.spark.functions.tables import meant
from headwater.spark.source.frame import from_spark
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.transform import Chain, KeepRows, KeepTables
from tests.spark.lake import Lake
from tests.spark.letters import Letters
from tests.spark.things import FINAL, expected, story
from tests.unit.format.cdc_tables import POST, TABLES, USER, added, batch, changed, removed

pytestmark = pytest.mark.spark


def transaction(user: int) -> EventBatch:
    """A user is changed and goes, with posts; every third transaction is beyond the limit below."""
    row = {"id": user, "name": "ä", "org_id": 8}
    posts = [{"id": user * 10 + place, "user_id": user} for place in range(8 if user % 3 else 20)]
    return batch(
        [
            added(USER, row),
            changed(USER, row, row | {"name": f"b{user}"}),
            changed(USER, {"id": user}, row | {"id": user + 100}),
            removed(USER, row),
            *(removed(POST, post) for post in posts),
        ]
    )


@pytest.fixture
def families(tmp_path: Path) -> SqliteLog:
    """Transactions in pieces: tasks of Spark get parts of them."""
    log = SqliteLog.create(tmp_path / "families.hwlog")
    writer = log.writer(IDENTITY)
    for user in range(1, 13):
        events = transaction(user)
        cut = user % len(events)
        for piece in (events.slice(0, cut), events.slice(cut)):
            if len(piece):
                writer.append(SourceBatch(piece, Position({"n": user}), TABLES))
    writer.close()
    return log


def _stored(log: SqliteLog) -> EventBatch:
    return EventBatch.concat(list(log.reader().read(0)))


def _batch(spark: SparkSession, log: SqliteLog) -> DataFrame:
    return spark.read.format("headwater").option("partitions", 4).load(str(log.path))


def _stream(spark: SparkSession, log: SqliteLog, **options: Any) -> DataFrame:
    reader = spark.readStream.format("headwater").options(startingSequence="earliest", **options)
    return reader.load(str(log.path))


def _streamed(frame: DataFrame, checkpoint: Path | None = None) -> list[Any]:
    """The rows that a stream gives when it has caught up."""
    found: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda rows, _: found.extend(rows.collect()))
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


def _events(frame: DataFrame) -> EventBatch:
    return from_spark(frame.toArrow().combine_chunks().to_batches()[0])


def test_transform_and_changed_fields_are_those_of_the_capture_process(
    spark: SparkSession, families: SqliteLog
) -> None:
    stored, events = _stored(families), _batch(spark, families)
    chosen = Chain((KeepTables(drop=("post",)), KeepRows("org_id", frozenset({8}))))
    assert _events(in_order(transform(events, chosen))).equals(chosen(stored))
    wanted = dict(zip(_numbers(stored), touched_fields(stored).to_pylist(), strict=True))
    assert wanted[2] == ["name"]
    assert wanted[3] == ["id", "name", "org_id"]
    found = changed_fields(events)
    assert {row["sequence_number"]: row["changed_fields"] for row in found.collect()} == wanted
    streamed = changed_fields(transform(_stream(spark, families), KeepTables(("user",))))
    rows = {row["sequence_number"]: row["changed_fields"] for row in _streamed(streamed)}
    users = KeepTables(("user",))(stored)
    assert rows == {number: wanted[number] for number in _numbers(users)}


def _numbers(events: EventBatch) -> list[int]:
    found: list[int] = events.column("sequence_number").to_pylist()
    return found


@pytest.mark.parametrize("granularity", ["row", "atomic"])
def test_entities_are_the_records_of_the_capture_process_however_tasks_cut_transactions(
    spark: SparkSession, families: SqliteLog, tmp_path: Path, granularity: str
) -> None:
    """INV-7: a micro-batch has whole transactions."""
    settings = {
        "granularity": granularity,
        "tables": [{"table": "user", "type": "Person", "tenant": "org_id"}],
        "exclude_operations": ["CREATE"],
    }
    plan = CdcPlan.of(CdcSettings.model_validate(settings))
    capture = plan.transform(families.reader(), KeepTables(), tmp_path)
    assert isinstance(capture, WholeTransactions)
    told = EventBatch.concat([made for _, made in capture.parts(_stored(families))])
    wanted = sorted(bytes(each) for each in plan.format().encode(told))
    assert any(b'"cascade"' in each for each in wanted)
    if granularity == "row":
        found = entities(_batch(spark, families), settings, log=families.path).collect()
    else:
        stream = _stream(spark, families, partitions=4, maxRowsPerTrigger=60)
        found = _streamed(entities(stream, settings, log=families.path))
    assert sorted(bytes(row["value"]) for row in found) == wanted


def test_entities_says_what_is_wrong_before_anything_runs(
    spark: SparkSession, families: SqliteLog, tmp_path: Path
) -> None:
    events = _batch(spark, families)
    with pytest.raises(ConfigError, match=r"cdc\.granularity"):
        entities(events, {"granularity": "rows"}, log=families.path)
    with pytest.raises(Exception, match="no log at"):
        entities(events, log=tmp_path / "none.hwlog")


def test_dedup_keeps_every_event_once_across_micro_batches_and_restarts(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = SqliteLog.create(tmp_path / "twice.hwlog")
    writer = log.writer(IDENTITY)
    for first in (1, 1, 11, 5, 21):  # the same ids come again, whole and in part
        writer.append(source_batch(_old(inserts(first, 10)), 1))
    events = _batch(spark, log)
    assert events.count() == 50
    assert dedup(events).count() == 30
    stream = dedup(_stream(spark, log, maxRowsPerTrigger=20))
    before = _streamed(stream, tmp_path / "checkpoint")
    for first in (11, 31):
        writer.append(source_batch(_old(inserts(first, 10)), 2))
    after = _streamed(stream, tmp_path / "checkpoint")
    numbers = [row["event_id"] for row in (*before, *after)]
    assert (len(before), len(after), len(set(numbers))) == (30, 10, 40)
    assert "__seen_at" not in stream.columns


def _old(events: EventBatch) -> EventBatch:
    """Times that run backwards: to go by them would be to lose events as late."""
    first = int(events.column("ts_ms")[0].as_py())
    columns = {name: events.column(name) for name in events.records.schema.names}
    columns["ts_ms"] = columns["source_ts_ms"] = [10**12 - first % 7 * 10**10] * len(events)
    return EventBatch.from_columns(columns)


NAMES = (
    *((None, "orders"), ("public", "orders"), ("Public", "Orders"), ("sales", "order_lines")),
    *(("a.b", "c"), ("", "orders"), ("public", "log_[1]"), ("public", "logs"), (None, "a+b")),
)
GLOBS = (
    *("orders", "public.orders", "PUBLIC.*", "order*", "*.orders", "?rders", "log_[[]1]"),
    *("[!l]*", "[l-o]*", "a.b.c", "a+b", "*", "public.log[_s]*", "none", "[s", "*.*"),
)


def test_of_table_means_the_tables_that_globs_mean_everywhere(spark: SparkSession) -> None:
    frame = spark.createDataFrame(list(NAMES), "`schema` string, `table` string")
    rows = frame.select("*", *(meant(glob).alias(glob.replace(".", " ")) for glob in GLOBS))
    for row in rows.collect():
        table = TableId(row[0], row[1])
        assert list(row)[2:] == [table.matches((glob,)) for glob in GLOBS], table
    assert of_table(frame, "orders", "c").count() == 5


def test_route_gives_each_function_its_tables_and_reads_the_frame_once(
    spark: SparkSession, families: SqliteLog
) -> None:
    got: dict[str, set[str]] = {}

    def into(name: str) -> Callable[[DataFrame], None]:
        def take(frame: DataFrame) -> None:
            got[name] = {row["table"] for row in frame.select("table").distinct().collect()}

        return take

    to = {"public.user": into("users"), "*": into("all"), "comment": into("comments")}
    stream = _stream(spark, families).writeStream.foreachBatch(lambda rows, _: route(rows, to))
    stream.trigger(availableNow=True).start().awaitTermination()
    assert got == {"users": {"user"}, "all": {"user", "post"}}


def test_latest_per_key_is_the_table_when_the_frame_is_its_whole_history(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-10. Rows move, come in parts, are truncated, and the table gets a column."""
    lake, letters = Lake(spark, tmp_path), Letters(random.Random(4))
    for turn in (Letters.truncate, Letters.widen, None):
        while letters.waiting < 90:
            letters.step()
        if turn is not None:
            turn(letters)
        lake.append(letters)
    events = spark.read.format("headwater").load(str(lake.log.path))
    last = latest_per_key(events, "letters", log=lake.log.path)
    assert last.columns[-3:] == [
        *("_headwater_sequence", "_headwater_deleted", "_headwater_unavailable"),
    ]
    rows = last.where("NOT _headwater_deleted AND size(_headwater_unavailable) = 0").collect()
    assert {row["id"]: tuple(row)[2:-3] for row in rows} == letters.settle()
    assert len({row["id"] for row in rows}) == len(rows)
    none = latest_per_key(events.where("false"), "public.letters", log=lake.log.reader())
    assert none.columns == last.columns
    assert none.count() == 0


def test_columns_are_known_by_their_numbers_when_names_change_hands(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The key is renamed, two columns change names, one goes and another takes its name."""
    things, _ = story(SqliteLog.create(tmp_path / "things.hwlog"))
    things.write()
    names = {number: name for number, name in FINAL.items() if number != 5}
    events = spark.read.format("headwater").load(str(things.log.path))
    last = latest_per_key(events, "public.things", log=things.log.path)
    assert set(last.columns[:-3]) == set(names.values())
    rows = last.where("NOT _headwater_deleted").select(*names.values(), "_headwater_sequence")
    assert sorted(map(tuple, rows.collect()), key=repr) == expected(things, "mirror", names)
    images = typed(events, "things", log=things.log.path)
    row = f.coalesce("after", "before")
    told = images.select(*(row[name] for name in names.values()), "sequence_number", "op")
    wanted = expected(things, "append_log", names)
    assert sorted(map(tuple, told.collect()), key=repr) == wanted
    whole = events.where("unavailable_columns IS NULL")
    changes = auto_cdc_source(whole, "things", log=things.log.path)
    sent = {row["sequence_number"] for row in whole.collect()}
    columns = (*names.values(), SEQUENCE, DELETED_FLAG)
    assert sorted(map(tuple, changes.select(*columns).collect()), key=repr) == sorted(
        ((*row, op == "delete") for *row, op in wanted if row[-1] in sent), key=repr
    )


def test_functions_that_need_a_batch_or_a_table_say_so(
    spark: SparkSession, families: SqliteLog
) -> None:
    stream = _stream(spark, families)
    for function in (in_order, lambda frame: route(frame, {})):
        with pytest.raises(ConfigError, match="spark-batch-only"):
            function(stream)
    with pytest.raises(ConfigError, match=r"did you mean public\.user"):
        typed(stream, "public.usr", log=families.path)
