"""PostgreSQL tables mirrored in Delta: partial rows, moved keys and every type arrive whole."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob
from headwater.cli.main import main
from headwater.cli.paste import with_config
from headwater.contract import Answer
from headwater.errors import ConfigError
from headwater.event import TableId, TableSchema, encode_row
from headwater.log import SqliteLog
from headwater.source.postgres import PostgresSource, PostgresSourceConfig
from headwater.source.postgres.server.install import install
from headwater.source.postgres.tables.rows import open_rows
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.proof.rows import as_stored, stored_rows
from headwater.spark.table.path import table_path
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import publish

pytestmark = pytest.mark.spark

TABLES = """
CREATE TABLE docs (
    id integer PRIMARY KEY, title text, body text, price numeric(12,3), at timestamptz,
    day date, tags text[], raw bytea, extra jsonb, ok boolean, ratio double precision
);
CREATE TABLE lines (region text, number integer, qty smallint, PRIMARY KEY (region, number));
"""
LONG = "(SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 100) j)"
ROUNDS = (
    f"""
    INSERT INTO docs SELECT i, 'title ' || i, {LONG}, i * 1.125, timestamptz '2026-01-01' + i *
        interval '1 hour', date '2026-01-01' + i, ARRAY['a', NULL, 'b"c'], decode(md5(i::text),
        'hex'), jsonb_build_object('n', i), i % 2 = 0, i / 7.0 FROM generate_series(-2, 20) i;
    INSERT INTO lines VALUES ('north', 0, 1), ('north', 2, NULL), ('', -1, 3)
    """,
    """
    UPDATE docs SET title = 'changed' WHERE id % 3 = 0;
    UPDATE docs SET id = id + 100 WHERE id IN (1, 2);
    UPDATE docs SET id = 200, ok = NULL WHERE id = 102; UPDATE docs SET id = 2 WHERE id = 200;
    UPDATE docs SET id = id + 100, body = 'moved' WHERE id IN (4, 5);
    DELETE FROM docs WHERE id IN (-2, 0, 7);
    UPDATE lines SET region = 'south' WHERE number = 2
    """,
    """
    ALTER TABLE docs ADD COLUMN city text;
    UPDATE docs SET city = 'Cork', ratio = 'NaN' WHERE id > 15;
    TRUNCATE lines; INSERT INTO lines VALUES ('west', 1, 3)
    """,
    # Rows of three shapes in one batch; the long bodies are not sent again.
    """
    UPDATE docs SET title = 'before' WHERE id = 3;
    ALTER TABLE docs RENAME COLUMN title TO heading;
    ALTER TABLE docs ALTER COLUMN price TYPE numeric(14,4), DROP COLUMN extra;
    UPDATE docs SET heading = 'after' WHERE id = 6;
    ALTER TABLE docs RENAME COLUMN body TO title;
    ALTER TABLE docs RENAME COLUMN city TO body;
    UPDATE docs SET heading = 'last' WHERE id IN (6, 9);
    ALTER TABLE lines ALTER COLUMN qty TYPE bigint, ALTER COLUMN number TYPE bigint;
    INSERT INTO lines VALUES ('west', 1::bigint << 40, 1::bigint << 50)
    """,
)


PIPELINE = """\
version: 1
name: shop
source: {url: "${DATABASE_URL}", tables: [docs, lines]}
log: {path: shop.hwlog}
spark: {target: lake, modes: {mirror: ["*"], soft_delete: [docs]}}
"""


def _drain(config: PostgresSourceConfig, log: SqliteLog) -> int:
    """One run of a capture process, which takes what it is asked, until nothing more comes."""
    source = PostgresSource(config)
    writer = log.writer(source.identity)
    try:
        source.open(writer.position)
        if writer.position is not None:
            source.confirm(writer.position)
            with closing(log.commands()) as commands:
                for command in commands.waiting():
                    while (taken := source.take(command)) is None:
                        if (batch := source.read(1000, 0.3)) is not None:
                            writer.append(batch)
                    writer.append(taken)
                    commands.answer(command.id, Answer())
        while (batch := source.read(1000, 0.3)) is not None or writer.head == 0:
            if batch is not None:
                writer.append(batch)
                if batch.events.closes_transaction and writer.position is not None:
                    source.confirm(writer.position)
        return writer.head
    finally:
        source.close()
        writer.close()


def _assert_equal(
    spark: SparkSession, config: PostgresSourceConfig, log: SqliteLog, target: Path
) -> None:
    newest = {schema.table: schema for _, schema in log.reader().schemas()}
    for name in ("docs", "lines"):
        table = TableId("public", name)
        schema = newest[table]
        with open_rows(config) as rows:
            images = [image for part in rows.images(table) for image in part.to_pylist()]
        expected = [as_stored(image, schema) for image in images]
        frame = spark.read.format("delta").load(table_path(str(target), table))
        held, wanted = _by_key(stored_rows(frame, schema), schema), _by_key(expected, schema)
        assert held.keys() == wanted.keys()
        differing = [
            (column, row[column], wanted[key][column])
            for key, row in held.items()
            for column in row
            if row[column] != wanted[key][column]
        ]
        assert differing[:3] == []


def _by_key(
    rows: Iterable[Mapping[str, object]], schema: TableSchema
) -> dict[str, dict[str, object]]:
    """Rows as plain values by their keys."""
    plain = (json.loads(encode_row(row)) for row in rows)
    return {json.dumps([row[name] for name in schema.primary_key]): row for row in plain}


def test_delta_tables_equal_postgresql_after_every_round(
    spark: SparkSession, postgres_database: PostgresDatabase, tmp_path: Path
) -> None:
    postgres_database.sql(TABLES)
    with postgres_database.connect("postgres") as superuser:
        assert install(superuser).ddl_messages
    config, log = publish(postgres_database), SqliteLog(tmp_path / "shop.hwlog")
    job = TableJob(log.path, str(tmp_path / "lake"), table_policy=TablePolicy(on_drop="empty"))
    for statements in ROUNDS:
        postgres_database.sql(statements)
        head = _drain(config, log)
        assert job.run_once(spark) == head
        _assert_equal(spark, config, log, tmp_path / "lake")
    postgres_database.sql("DROP TABLE lines")
    head = _drain(config, log)
    assert job.run_once(spark) == head
    assert spark.read.format("delta").load(f"{tmp_path}/lake/public.lines").isEmpty()


def test_existing_rows_get_their_values_in_a_new_column_when_it_is_filled_without_events(
    spark: SparkSession,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres_database.sql(TABLES)
    postgres_database.sql("INSERT INTO docs (id) SELECT generate_series(1, 5)")
    postgres_database.sql("INSERT INTO lines VALUES ('n', 1, 1)")
    config, log = publish(postgres_database), SqliteLog(tmp_path / "shop.hwlog")
    job = TableJob(
        log.path,
        str(tmp_path / "lake"),
        schema_policy=SchemaPolicy(on_add="backfill"),
        modes={"mirror": ["*"], "soft_delete": ["docs"]},
    )
    _drain(config, log)
    job.run_once(spark)
    postgres_database.sql(
        """ALTER TABLE docs ADD COLUMN "st ate" int DEFAULT 7, ADD COLUMN city text;
        UPDATE docs SET title = 'told' WHERE id = 2"""
    )
    _drain(config, log)
    # The batch comes twice, and two modes of a table find the columns new.
    for _ in range(2):
        job.run_once(spark)
        shutil.rmtree(job.checkpoint)
        log.rewind("spark", 0)
    with closing(log.commands()) as commands:
        wishes = [each.wish for each in commands.waiting()]
    assert [(each.table, each.where) for each in wishes] == [
        ("public.docs", '"st ate" IS NOT NULL'),
        ("public.docs", '"city" IS NOT NULL'),
    ]
    head = _drain(config, log)
    assert job.run_once(spark) == head
    _assert_equal(spark, config, log, tmp_path / "lake")
    frame = spark.read.format("delta").load(f"{tmp_path}/lake/public.docs")
    assert sorted(row["st ate"] for row in frame.collect()) == [7] * 5
    monkeypatch.setenv("DATABASE_URL", postgres_database.dsn())
    _goes_on_by_the_hints_when_the_key_changes(spark, postgres_database, config, job)


def _goes_on_by_the_hints_when_the_key_changes(
    spark: SparkSession,
    database: PostgresDatabase,
    config: PostgresSourceConfig,
    job: TableJob,
) -> None:
    """Each mode says what to type, whether or not the batch has events with the old key too."""
    log, lake = SqliteLog(job.log_path), Path(job.target)
    database.sql("UPDATE docs SET title = coalesce(title, 'none')")
    _drain(config, log)
    job.run_once(spark)
    database.sql(
        """ALTER TABLE docs DROP CONSTRAINT docs_pkey; ALTER TABLE docs ADD PRIMARY KEY (title, id);
        DELETE FROM docs WHERE id = 4; UPDATE docs SET city = 'Cork' WHERE id = 3;
        INSERT INTO lines VALUES ('n', 2, 2), ('n', 3, 3); DELETE FROM lines WHERE number = 2;
        ALTER TABLE lines DROP CONSTRAINT lines_pkey; ALTER TABLE lines ADD PRIMARY KEY (number);
        UPDATE lines SET qty = 7 WHERE number = 1"""
    )
    file = lake.with_name("the shop.yaml")
    file.write_text(PIPELINE)
    _drain(config, log)
    for name in ("public.docs@mirror", "public.docs@soft_delete", "public.lines@mirror"):
        with pytest.raises(ConfigError) as caught:
            job.run_once(spark)
        assert caught.value.code == "spark-key-changed"
        folder, *commands = with_config(caught.value.hint, file).split("; ")
        assert (folder, len(commands)) == ("remove the table's folder", 2)
        assert name in commands[0]
        shutil.rmtree(caught.value.where)
        for command in commands:
            assert main(shlex.split(command)[1:]) == 0
        head = _drain(config, log)
    assert job.run_once(spark) == head
    _assert_equal(spark, config, log, lake)
    marked = spark.read.format("delta").load(f"{lake}/public.docs@soft_delete")
    assert marked.where("NOT _headwater_deleted").count() == 4
    assert [cursor.name for cursor in log.info().cursors] == ["spark"]


def test_tables_are_chosen_by_schema_and_name(
    spark: SparkSession, postgres_database: PostgresDatabase, tmp_path: Path
) -> None:
    postgres_database.sql(TABLES)
    postgres_database.sql("INSERT INTO lines VALUES ('n', 1, 1), ('n', 2, 1)")
    postgres_database.sql("INSERT INTO docs (id) VALUES (1)")
    config, log = publish(postgres_database), SqliteLog(tmp_path / "shop.hwlog")
    assert _drain(config, log) == 3
    frames = spark.read.format("headwater")
    counts = {
        glob: frames.option("tables", glob).load(str(log.path)).count()
        for glob in ("lines", "public.lines", "PUBLIC.*", "other.lines", "docs")
    }
    assert counts == {"lines": 2, "public.lines": 2, "PUBLIC.*": 3, "other.lines": 0, "docs": 1}
