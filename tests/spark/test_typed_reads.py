"""Rows of a snapshot typed by Arrow: what Spark makes of the same images, or a refusal."""

import json
import random
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headwater.app.spark import TableJob
from headwater.contract import Phase, SnapshotProgress, SourceBatch, SourceIdentity
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    encode_row,
    event_ids,
)
from headwater.event.verbatim import Verbatim
from headwater.log import RetentionPolicy, SqliteLog
from headwater.spark.change.columns import typed
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.reading import with_image
from headwater.spark.source.data_file import write_file
from headwater.spark.source.typed import arrow_schema, typed_rows
from headwater.spark.source.typed_read import PLAIN, REFUSAL
from headwater.spark.sql import column_list

pytestmark = pytest.mark.spark

_TYPES = {
    kind: LogicalType(kind, 20, 4) if kind is Kind.DECIMAL else LogicalType(kind) for kind in PLAIN
}
KINDS = TableSchema(
    table=TableId("odd.schema", "kinds"),
    columns=(
        Column("id", LogicalType(Kind.INT64), nullable=False),
        *(Column(f"a_{kind}", logical) for kind, logical in sorted(_TYPES.items())),
    ),
    primary_key=("id",),
)
OTHER = TableSchema(TableId("odd.schema", "other"), KINDS.columns[:1], ("id",))


def _value(kind: Kind, draw: random.Random) -> Any:
    moment = datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=draw.randrange(3 * 10**17))
    match kind:
        case Kind.BOOLEAN:
            return draw.random() < 0.5
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            bits = int(kind.removeprefix("int")) - 1
            return draw.choice((-(2**bits), 2**bits - 1, 0, draw.randrange(-(2**bits), 2**bits)))
        case Kind.FLOAT64:
            return draw.choice((0.0, -0.0, 5e-324, 1.7976931348623157e308, draw.gauss(0, 1e9), 7.0))
        case Kind.DECIMAL:
            return Decimal(draw.randrange(-(10**20) + 1, 10**20)).scaleb(-4)
        case Kind.DATE:
            return draw.choice((date(1, 1, 1), date(9999, 12, 31), moment.date()))
        case Kind.TIME:
            return time(23, 59, 59, draw.randrange(10**6))
        case Kind.TIMESTAMP:
            return moment.replace(tzinfo=None)
        case Kind.TIMESTAMPTZ:
            return moment
        case Kind.UUID:
            return UUID(int=draw.getrandbits(128))
        case _:
            return _written(kind, draw)


def _written(kind: Kind, draw: random.Random) -> Any:
    if kind in (Kind.JSON, Kind.DYNAMIC) and draw.random() < 0.7:
        return draw.choice((2**70, 1e22, {"a": [1.0, None]}, True, [], {"$binary": "AA=="}))
    return draw.choice(("", 'é\u2028\n\t"\\', "NaN", "null", "5", "x" * 300))


def _row(number: int, draw: random.Random) -> dict[str, Any]:
    values = {
        column.name: None if draw.random() < 0.1 else _value(column.type.kind, draw)
        for column in KINDS.columns[1:]
    }
    return {"id": number, **values}


def _reads(rows: list[dict[str, Any]], of: TableSchema = KINDS) -> EventBatch:
    offsets = [f"row:{row['id']}" for row in rows]
    return EventBatch.from_columns(
        {
            "event_id": event_ids("kinds", offsets),
            "op": int(Operation.READ),
            "source_name": "postgres",
            "offset": offsets,
            "source_ts_ms": 1_700_000_000_123,
            "ts_ms": 1,
            "table_schema": of.table.schema,
            "table_name": of.table.name,
            "primary_key": ["id"],
            "schema_id": of.schema_id,
            "after": [encode_row(row) for row in rows],
        }
    )


def _typed(events: EventBatch, columns: dict[str, LogicalType]) -> pa.RecordBatch:
    parsed = StructType.fromDDL(column_list({n: stored_type(t) for n, t in columns.items()}))
    assert isinstance(parsed, StructType)
    return typed_rows(events, arrow_schema(parsed), {}, Verbatim(columns))


def _by_spark(spark: SparkSession, images: list[str]) -> pa.Table:
    reading = {column.name: column for column in KINDS.columns}
    frame = spark.createDataFrame([(image, 1) for image in images], "image string, schema_id int")
    rows = with_image(frame, "row", "image", KINDS.columns, {1: reading})
    return rows.select(*(typed(each, "row").alias(each.name) for each in KINDS.columns)).toArrow()


def test_arrow_reads_what_spark_reads(spark: SparkSession) -> None:
    draw = random.Random(11)
    reads = _reads([_row(number, draw) for number in range(400)])
    rows = _typed(reads, {each.name: each.type for each in KINDS.columns})
    expected = _by_spark(spark, reads.column("after").to_pylist())
    for name in rows.schema.names:
        assert rows.column(name).to_pylist() == expected.column(name).to_pylist(), name


def test_statistics_of_a_file_are_those_of_delta(spark: SparkSession, tmp_path: Path) -> None:
    """Readers leave files out by them: a bound may be wider than Delta's, and never narrower."""
    draw = random.Random(13)
    reads = _reads([_row(number, draw) for number in range(50)])
    rows = _typed(reads, {each.name: each.type for each in KINDS.columns})
    written = write_file(pa.Table.from_batches([rows]), tmp_path, "id")
    frame = spark.read.parquet(str(tmp_path / written.path)).coalesce(1)
    frame.write.format("delta").save(str(tmp_path / "t"))
    (log,) = (tmp_path / "t" / "_delta_log").glob("*00.json")
    told = [json.loads(line, parse_float=Decimal) for line in log.read_text().strip().split("\n")]
    (stats,) = (each["add"]["stats"] for each in told if "add" in each)
    theirs = json.loads(stats, parse_float=Decimal)
    ours = json.loads(written.stats, parse_float=Decimal)
    assert (written.rows, written.least, written.greatest) == (50, "0", "49")
    assert ours["numRecords"] == theirs["numRecords"]
    assert ours["nullCount"] == theirs["nullCount"]
    assert ours["minValues"] == theirs["minValues"]
    cut = {name for name, value in ours["maxValues"].items() if str(value)[-1:] == "\U0010ffff"}
    assert cut
    for name, value in theirs["maxValues"].items():
        found = ours["maxValues"][name]
        assert found > value if name in cut else found == value, name


@pytest.mark.parametrize(
    ("kind", "image"),
    [
        (Kind.FLOAT64, '"NaN"'),
        (Kind.INT64, "9223372036854775808"),
        (Kind.INT64, "1.5"),
        (Kind.INT16, "32768"),
        (Kind.STRING, "5"),
        (Kind.STRING, '{"$binary":"AA=="}'),
        (Kind.DATE, '"infinity"'),
        (Kind.TIMESTAMPTZ, '"2026-01-01T00:00:00"'),
        (Kind.DECIMAL, '"1.23456"'),
        (Kind.DECIMAL, '"NaN"'),
    ],
)
def test_what_is_not_plain_is_refused(kind: Kind, image: str) -> None:
    """Spark decides what becomes of it, as it does wherever Arrow is not asked."""
    reads = _reads([{"id": 1}])
    columns = {name: reads.column(name) for name in reads.records.schema.names}
    odd = EventBatch.from_columns(columns | {"after": [f'{{"id":1,"x":{image}}}']})
    with pytest.raises(ValueError, match=REFUSAL):
        _typed(odd, {"id": LogicalType(Kind.INT64), "x": _TYPES[kind]})


@pytest.mark.parametrize("value", [0.5, float("nan")])
def test_load_writes_files_of_plain_rows_and_goes_on_by_spark_with_others(
    value: float, spark: SparkSession, tmp_path: Path
) -> None:
    log = SqliteLog.create(tmp_path / "kinds.hwlog")
    draw = random.Random(12)
    rows = [_row(number, draw) for number in range(30)]
    rows[7]["a_float64"] = value
    with closing(log.writer(SourceIdentity("postgres", "kinds"))) as writer:
        # The log begins later than its first event, which was of a table that nobody keeps.
        gone = _reads([{"id": 1}], OTHER)
        writer.append(SourceBatch(gone, Position({"n": -1}), (OTHER,)))
        assert log.retain(RetentionPolicy(max_age_ms=0)).removed_events == 1
        for begin in (0, 15):
            done = begin == 15
            writer.append(
                SourceBatch(
                    _reads(rows[begin : begin + 15]),
                    Position({"n": begin}),
                    (KINDS,),
                    Phase.SNAPSHOT,
                    SnapshotProgress(str(KINDS.table), begin + 15, 30, done=done),
                    owed=() if done else (KINDS.table,),
                )
            )
    job = TableJob(log.path, str(tmp_path / "lake"), tables=("kinds",), max_events=15)
    job.run_once(spark)
    (folder,) = (tmp_path / "lake").glob("*kinds*")
    (switched,) = (folder / "_delta_log").glob("*00.json")
    assert ("headwater.least_key" in switched.read_text()) == (not isnan(value))
    held = spark.read.format("delta").load(str(folder)).orderBy("id").toArrow()
    expected = _by_spark(spark, [encode_row(row) for row in rows])
    for name in expected.column_names:
        found, wanted = held.column(name).to_pylist(), expected.column(name).to_pylist()
        assert list(map(repr, found)) == list(map(repr, wanted)), name
