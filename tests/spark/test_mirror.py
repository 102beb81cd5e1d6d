"""Mirrored tables equal their source, whatever happened and however often it is applied."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob
from headwater.contract import SourceBatch
from headwater.errors import ConfigError, DataError
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
    message_image,
)
from headwater.log import SqliteLog
from headwater.source.sqlite import image
from headwater.source.sqlite.catalog import Catalog
from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.spark.apply.report import Reports
from headwater.spark.change.contents import contents, gathered, used
from headwater.spark.change.telling import told_in
from headwater.spark.policy import SchemaPolicy
from headwater.spark.proof.rows import as_stored, stored_rows
from headwater.spark.table.delta import DeltaTarget
from headwater.spark.table.parquet import current_rows
from headwater.testing.builders import IDENTITY
from tests.shop import Shop, open_shop

pytestmark = pytest.mark.spark


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


def _schemas(shop: Shop) -> dict[str, TableSchema]:
    catalog = Catalog.read(shop.db, SqliteSourceConfig(path=shop.path))
    return {g.table: catalog.schemas[g.capture_no] for g in catalog.active()}


def _source_rows(shop: Shop, schema: TableSchema) -> list[dict[str, object]]:
    image.register(shop.db)
    typed = [(column.name, column.type) for column in schema.columns]
    names = [f'"{column.name}"' for column in schema.columns]
    rows = shop.db.execute(
        f"SELECT {image.image_sql(typed, names)} FROM {schema.table.name}"
    ).fetchall()
    return [as_stored(text, schema) for (text,) in rows]


def _assert_equal(spark: SparkSession, shop: Shop, target: Path, kind: TableFormat) -> None:
    for name, schema in _schemas(shop).items():
        path = str(target / name)
        if kind == "delta":
            frame = spark.read.format("delta").load(path)
        else:
            frame = current_rows(spark, path, schema.primary_key)
        stored = sorted(map(encode_row, stored_rows(frame, schema)))
        assert stored == sorted(map(encode_row, _source_rows(shop, schema))), name


ROUNDS = (
    (
        "UPDATE customers SET id = 100, name = 'moved' WHERE id = 1 AND 0",
        "INSERT OR REPLACE INTO customers VALUES (2, 'replaced', 9e999, 'text in blob', 1, x'00')",
        "INSERT INTO customers (id, name) VALUES (3, 'c'), (4, 'd'), (5, 'e')",
        "UPDATE orders SET number = number + 10 WHERE region = 'north'",
        "DELETE FROM customers WHERE id = 4",
        "INSERT INTO customers (id, name) VALUES (4, 'again')",
    ),
    (
        "ALTER TABLE customers ADD COLUMN city TEXT DEFAULT 'Delft'",
        "UPDATE customers SET city = 'Cork' WHERE id = 3",
        "UPDATE customers SET id = 50 WHERE id = 5",
        "INSERT INTO customers (id, name) VALUES (5, 'took its place')",
        "DELETE FROM customers WHERE id = 1",
    ),
    ("DELETE FROM orders", "INSERT INTO orders VALUES ('west', 1, 3, 'x')"),
)
# A log of appended changes has each under the name that it had.
ROUNDS_OF_A_TABLE = (
    *ROUNDS,
    (
        "UPDATE customers SET name = 'before' WHERE id = 2",
        "ALTER TABLE customers RENAME COLUMN name TO 'full name'",
        "UPDATE customers SET 'full name' = 'after' WHERE id = 3",
        "ALTER TABLE customers ADD COLUMN name INTEGER",
        "UPDATE customers SET name = 7 WHERE id = 4",
    ),
)


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_tables_equal_the_source_after_every_round(
    spark: SparkSession, shop: Shop, tmp_path: Path, kind: TableFormat
) -> None:
    """INV-10, and: key changes move rows, replaced rows go, new columns come, all types survive."""
    target = tmp_path / "lake"
    job = TableJob(shop.log.path, str(target), table_format=kind, max_events=20)
    for statements in ((), *(ROUNDS_OF_A_TABLE if kind == "delta" else ROUNDS)):
        shop.run(*statements)
        head = shop.drain()
        assert job.run_once(spark) == head
        _assert_equal(spark, shop, target, kind)
    if kind == "delta":
        _assert_replay_changes_nothing(spark, shop, target, job)
    _assert_looks_agree(spark, shop.log)


def _assert_looks_agree(spark: SparkSession, log: SqliteLog) -> None:
    """What Arrow counts in the log is what Spark counts in the frame."""
    with closing(log.reader()) as reader:
        by_spark = contents(used(spark.read.format("headwater").load(str(log.path))), reader)
        by_arrow = gathered(told_in(reader.read(0)), reader, by_spark.after, by_spark.until)
    told = [{each.schema.table: each for each in look.tables} for look in (by_arrow, by_spark)]
    assert told[0] == told[1]
    assert by_arrow.committed_at_us == by_spark.committed_at_us


def _assert_replay_changes_nothing(
    spark: SparkSession, shop: Shop, target: Path, job: TableJob
) -> None:
    """The checkpoint is lost and everything comes again: each table knows its own position."""
    table = DeltaTarget(spark, str(target / "customers"), f"headwater:{shop.log.reader().log_id}")
    applied = table.standing().applied
    last = spark.sql(f"DESCRIBE HISTORY delta.`{target}/customers`").first()
    assert last is not None
    assert json.loads(last["userMetadata"]) == {"headwater": {"sequence": applied}}
    shutil.rmtree(job.checkpoint)
    shop.log.rewind("spark", 0)
    job.run_once(spark)
    _assert_equal(spark, shop, target, "delta")
    assert table.standing().applied >= applied


def test_mistyped_value_stops_its_table_until_it_may_be_null(
    spark: SparkSession, shop: Shop, tmp_path: Path
) -> None:
    """The value stays in the log, also when the source has put it right; a key is never guessed."""
    job = TableJob(shop.log.path, str(tmp_path / "lake"), modes={"mirror": ["*"], "scd2": ["c*"]})
    shop.run("UPDATE customers SET balance = 'not a number' WHERE id = 2")
    shop.drain()
    shop.run("UPDATE customers SET balance = 7.5 WHERE id = 2")
    shop.drain()
    with pytest.raises(DataError) as caught:
        job.run_once(spark)
    assert caught.value.code == "value-mistyped"
    assert "customers" in caught.value.where
    shop.run("UPDATE customers SET name = 'Bea' WHERE id = 2")
    shop.run("INSERT INTO orders VALUES ('east', 'nine', 1, NULL)")
    shop.drain()
    forgiving = SchemaPolicy(mistyped_as_null=("customers", "orders"))
    with pytest.raises(DataError) as caught:
        replace(job, schema_policy=forgiving, reports=Reports()).run_once(spark)
    assert "orders" in caught.value.where
    assert [cursor.name for cursor in shop.log.info().cursors] == ["spark", "spark:orders@mirror"]
    rows = spark.read.format("delta").load(f"{tmp_path}/lake/customers")
    assert rows.where("id = 2").select("name", "balance").collect() == [("Bea", 7.5)]
    versions = spark.read.format("delta").load(f"{tmp_path}/lake/customers@scd2")
    told = versions.where("id = 2").orderBy("_headwater_sequence").select("name", "balance")
    assert told.collect()[-3:] == [('B"o\n', None), ('B"o\n', 7.5), ("Bea", 7.5)]


def test_table_without_a_key_is_refused(spark: SparkSession, shop: Shop, tmp_path: Path) -> None:
    """INV-10: rows that cannot be told apart are not guessed at."""
    shop.run("CREATE TABLE keyless (a TEXT)", "INSERT INTO keyless VALUES ('x')")
    shop.drain()
    with pytest.raises(ConfigError) as caught:
        TableJob(shop.log.path, str(tmp_path / "lake")).run_once(spark)
    assert caught.value.code == "spark-no-key"
    TableJob(shop.log.path, str(tmp_path / "lake2"), tables=("c*",)).run_once(spark)


DOCS = TableSchema(
    table=TableId("public", "docs"),
    columns=(
        Column("id", LogicalType(Kind.INT64), nullable=False),
        Column("body", LogicalType(Kind.STRING)),
        Column("views", LogicalType(Kind.INT64)),
    ),
    primary_key=("id",),
)


NARROW = replace(DOCS, columns=DOCS.columns[:2])


def _event(op: Operation, offset: int, schema: TableSchema = DOCS, **images: object) -> EventBatch:
    columns = {
        "op": int(op),
        "source_name": "postgres",
        "offset": [str(offset)],
        "source_ts_ms": 1,
        "ts_ms": 1,
        "table_schema": schema.table.schema,
        "table_name": schema.table.name,
        "primary_key": ["id"],
        "schema_id": schema.schema_id,
        **{
            name: [encode_row(image) if isinstance(image, dict) else image]
            for name, image in images.items()
        },
    }
    return EventBatch.from_columns(columns)


def _message(offset: int) -> EventBatch:
    """A logical message: it has no table, and no version of one."""
    columns = {
        "op": int(Operation.MESSAGE),
        "source_name": "postgres",
        "offset": [str(offset)],
        "source_ts_ms": 1,
        "ts_ms": 1,
        "after": message_image("outbox", b"hello"),
    }
    return EventBatch.from_columns(columns)


def test_unavailable_columns_keep_their_value_and_truncate_empties(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-10: a column that the source did not send is neither NULL nor lost.

    Messages among the rows, and one that is alone in its batch, are passed over.
    """
    log = SqliteLog.create(tmp_path / "docs.hwlog")
    writer = log.writer(IDENTITY)
    job = TableJob(log.path, str(tmp_path / "lake"))

    def apply(*events: EventBatch) -> list[tuple[object, ...]]:
        for event in events:
            writer.append(SourceBatch(event, Position({"n": 1}), (DOCS, NARROW)))
        job.run_once(spark)
        frame = spark.read.format("delta").load(str(tmp_path / "lake" / "public.docs"))
        return sorted(tuple(row) for row in frame.select("id", "body", "views").collect())

    op = Operation
    big = "x" * 50
    assert apply(
        _event(op.INSERT, 1, after={"id": 1, "body": big, "views": 0}),
        _event(op.UPDATE, 2, after={"id": 1, "views": 1}, unavailable_columns=["body"]),
        _message(21),
        _event(op.INSERT, 3, after={"id": 2, "body": "b", "views": 0}),
    ) == [(1, big, 1), (2, "b", 0)]
    assert apply(_message(22)) == [(1, big, 1), (2, "b", 0)]
    assert apply(
        _event(op.UPDATE, 4, after={"id": 1, "views": 2}, unavailable_columns=["body"]),
        _event(op.UPDATE, 5, after={"id": 2, "body": None, "views": 5}),
        _event(op.UPDATE, 6, after={"id": 9, "views": 1}, unavailable_columns=["body"]),
    ) == [(1, big, 2), (2, None, 5)]
    # A column that was dropped and made again has nothing of the rows that went meanwhile.
    assert apply(
        _event(op.DELETE, 7, before={"id": 2}),
        _event(op.INSERT, 8, NARROW, after={"id": 2, "body": "again"}),
        _event(op.INSERT, 9, after={"id": 3, "body": "c", "views": 0}),
    ) == [(1, big, 2), (2, "again", None), (3, "c", 0)]
    assert apply(
        _event(op.TRUNCATE, 10),
        _event(op.INSERT, 11, NARROW, after={"id": 1, "body": "a"}),
        _event(op.INSERT, 12, after={"id": 3, "body": "c", "views": 0}),
    ) == [(1, "a", None), (3, "c", 0)]
    assert apply(_event(op.TRUNCATE, 13)) == []
    writer.close()
    _assert_looks_agree(spark, log)


def test_tables_stay_apart_when_only_their_schemas_differ(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = SqliteLog.create(tmp_path / "docs.hwlog")
    writer = log.writer(IDENTITY)
    namesake = replace(DOCS, table=TableId("archive", "docs"))
    for number, schema in enumerate((DOCS, namesake), start=1):
        image = {"id": number, "body": str(schema.table), "views": 0}
        event = _event(Operation.INSERT, number, schema, after=image)
        writer.append(SourceBatch(event, Position({"n": number}), (schema,)))
    writer.close()
    TableJob(log.path, str(tmp_path / "lake")).run_once(spark)
    for number, schema in enumerate((DOCS, namesake), start=1):
        frame = spark.read.format("delta").load(str(tmp_path / "lake" / str(schema.table)))
        assert [(row["id"], row["body"]) for row in frame.collect()] == [
            (number, str(schema.table))
        ]
