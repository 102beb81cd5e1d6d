"""Forged tables are found out key by key, and mended through the pipeline."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.config import load_config
from headwater.app.inspect import inspect
from headwater.app.pipeline import Pipeline
from headwater.app.proof.prove import Asked, prove
from headwater.errors import ConfigError
from headwater.spark.table.path import table_path
from tests.fix_postgres import PostgresDatabase
from tests.spark.theirs import theirs

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROWS = 10_000


class Proven:
    """A pipeline whose tables are forged and proven through a session that is there already."""

    def __init__(self, spark: SparkSession, file: Path) -> None:
        self.spark = spark
        self.file = file
        self.config = load_config(file)

    @contextmanager
    def borrowed(self) -> Iterator[SparkSession]:
        yield self.spark

    def pipeline(self) -> Pipeline:
        return Pipeline(self.config, session=self.borrowed)

    def prove(self, **asked: Any) -> dict[str, Any]:
        return prove(self.file, Asked(**asked), open_session=self.borrowed)

    def forge(self, table: str, mode: str, *statements: str) -> None:
        assert self.config.spark is not None
        known = {str(schema.table): schema.table for _, schema in self._schemas()}
        path = table_path(self.config.spark.target, known[table], mode)  # type: ignore[arg-type]
        session, name = theirs(self.spark, self.config.spark.table_format, Path(path))
        for statement in statements:
            session.sql(statement.replace("TABLE", name))

    def _schemas(self) -> Any:
        reader = self.pipeline().log.reader()
        try:
            return reader.schemas()
        finally:
            reader.close()

    def last_equal(self) -> dict[str, int | None]:
        return {each["table"]: each["equal_sequence"] for each in inspect(self.file)["proofs"]}


def by_table(proof: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["table"]: each for each in proof["tables"]}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Proven:
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.executescript(
            "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, price REAL, raw BLOB, any_);"
            "CREATE TABLE marks (code TEXT COLLATE NOCASE, at INTEGER, note TEXT,"
            " PRIMARY KEY (code, at)) WITHOUT ROWID;"
            "CREATE TABLE lives (id INTEGER PRIMARY KEY, state TEXT);"
            "INSERT INTO marks VALUES ('a', 1, 'x'), ('b', 1, 'y'), ('c', 2, NULL);"
            "INSERT INTO lives VALUES (1, 'born'), (2, 'born'), (3, 'born')"
        )
        rows = (
            (number, f"näme {number}", number / 7, number.to_bytes(2), number % 3 or None)
            for number in range(ROWS)
        )
        db.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?)", rows)
    file = tmp_path / "shop.yaml"
    file.write_text(
        "version: 1\nname: shop\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
        "server: {enabled: false}\n"
        "spark: {target: lake, modes: {soft_delete: [marks], scd2: [lives], mirror: [things]}}\n"
    )
    return Proven(spark, file)


def test_forged_rows_are_found_and_mended_when_nobody_captures(shop: Proven) -> None:
    shop.pipeline().run(once=True)
    first = shop.prove()
    assert first["equal"], first
    assert by_table(first)["things"]["source"]["rows"] == ROWS
    assert shop.last_equal() == dict.fromkeys(("lives", "marks", "things"), ROWS + 6)
    shop.forge(
        "things",
        "mirror",
        "UPDATE TABLE SET price = price + 0.5 WHERE id IN (7, 5000)",
        "DELETE FROM TABLE WHERE id IN (11, 9999)",
        "INSERT INTO TABLE SELECT id + 20000, name, price, raw, any_, _headwater_sequence"
        " FROM TABLE WHERE id < 2",
    )
    shop.forge("marks", "soft_delete", "UPDATE TABLE SET code = 'A' WHERE code = 'a'")
    shop.forge("lives", "scd2", "UPDATE TABLE SET state = 'forged' WHERE id = 2")
    with pytest.raises(ConfigError) as caught:
        shop.prove(repair=True, max_keys=5, tables=("things",))
    assert caught.value.code == "verify-repair-too-many"
    mended = shop.prove(repair=True, timeout_s=30)
    found = by_table(mended["found"])
    assert found["things"]["different"] == [{"id": 5000}, {"id": 7}]
    assert found["things"]["missing"] == [{"id": 11}, {"id": 9999}]
    assert found["things"]["extra"] == [{"id": 20000}, {"id": 20001}]
    assert found["marks"]["missing"] == [{"at": 1, "code": "a"}]
    assert found["marks"]["extra"] == [{"at": 1, "code": "A"}]
    assert found["lives"]["different"] == [{"id": 2}]
    # 10,006 rows in 256 ranges of some forty each: none had to be split.
    assert found["things"]["ranges"] <= 256
    assert found["things"]["last_equal"]["sequence"] == ROWS + 6
    things = next(each for each in mended["repaired"] if each["table"] == "things")
    assert (things["read"], things["absent"]) == (4, 2)
    assert mended["equal"], mended
    assert mended["sequence"] == ROWS + 6 + 6 + 2 + 1
    assert set(shop.last_equal().values()) == {mended["sequence"]}


@pytest.fixture
def lost(spark: SparkSession, tmp_path: Path) -> Proven:
    """Tables of which some will be lost; `notes` is kept by nobody, and only captured as yet."""
    with sqlite3.connect(tmp_path / "shop.db") as db:
        for table in ("orders", "customers", "notes"):
            db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, state TEXT)")
            db.executemany(f"INSERT INTO {table} VALUES (?, 'new')", [(1,), (2,), (3,)])
        db.execute("CREATE TABLE quiet (id INTEGER PRIMARY KEY)")
    file = tmp_path / "shop.yaml"
    text = (
        "version: 1\nname: shop\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
        "server: {enabled: false}\n"
    )
    file.write_text(text)
    Pipeline(load_config(file)).run(once=True)
    file.write_text(f"{text}spark: {{target: lake, tables: [orders, customers]}}\n")
    return Proven(spark, file)


def test_tables_that_are_lost_are_not_proven_by_the_log(lost: Proven) -> None:
    """What the target claims to have, by its cursor, the log does not add."""

    def missing() -> dict[str, int]:
        return {name: len(each["missing"]) for name, each in by_table(lost.prove()).items()}

    assert missing() == {"orders": 3, "customers": 3}  # no stream has run yet
    with pytest.raises(ConfigError, match="Spark keeps no table that matches 'notes'"):
        lost.prove(tables=("orders", "notes"))
    lost.pipeline().run(once=True)
    assert lost.prove()["equal"]
    lake, copy = lost.file.with_name("lake"), lost.file.with_name("copy")
    shutil.copytree(lake / "orders", copy)
    with sqlite3.connect(lost.file.with_name("shop.db")) as db:
        db.execute("UPDATE orders SET state = 'paid' WHERE id = 2")
    lost.pipeline().run(once=True)
    assert lost.prove()["equal"]
    shutil.rmtree(lake / "orders")
    shutil.copytree(copy, lake / "orders")
    shutil.rmtree(lake / "customers")
    found = by_table(lost.prove())
    assert found["orders"]["different"] == [{"id": 2}]
    assert len(found["customers"]["missing"]) == 3
    mended = lost.prove(repair=True, timeout_s=30)
    assert mended["equal"], mended
    shutil.rmtree(lake)
    assert missing() == {"orders": 3, "customers": 3}


@pytest.fixture
def server(
    spark: SparkSession,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Proven:
    monkeypatch.setenv("DATABASE_URL", postgres_database.dsn())
    postgres_database.sql(
        "CREATE TABLE items (id bigint, kind text, at timestamptz, price numeric(12,3), ratio real,"
        " doc jsonb, tags text[], raw bytea, PRIMARY KEY (id, kind));"
        "CREATE TABLE days (day date, n int, PRIMARY KEY (day)) PARTITION BY RANGE (day);"
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');"
        "CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2026-02-01') TO ('2027-01-01');"
        "INSERT INTO items SELECT n, 'k' || n % 3, timestamptz '2026-01-01' + n * interval '1 s',"
        " n * 0.125, n / 7.0, jsonb_build_object('n', n / 8.0, 'e', 1e22), ARRAY['a', NULL],"
        f" decode(md5(n::text), 'hex') FROM generate_series(1, {ROWS}) n;"
        "INSERT INTO days SELECT date '2026-01-20' + n, n FROM generate_series(0, 30) n;"
        "CREATE PUBLICATION headwater_shop FOR TABLE items, days WITH (publish_via_partition_root)"
    )
    file = tmp_path / "shop.yaml"
    file.write_text(
        "version: 1\nname: shop\n"
        "source: {url: '${DATABASE_URL}', tables: [items, days]}\n"
        "log: {path: shop.hwlog}\nserver: {enabled: false}\n"
        "spark: {target: lake, trigger: 1s}\n"
    )
    return Proven(spark, file)


def test_forged_rows_of_a_server_are_mended_when_the_pipeline_runs(
    server: Proven, postgres_database: PostgresDatabase
) -> None:
    server.pipeline().run(once=True)
    running = server.pipeline()
    thread = Thread(target=running.run)
    thread.start()
    try:
        server.forge(
            "public.items",
            "mirror",
            "UPDATE TABLE SET doc = NULL WHERE id = 77",
            "DELETE FROM TABLE WHERE id = 78",
            "INSERT INTO TABLE SELECT id + 50000, kind, at, price, ratio, doc, tags, raw,"
            " _headwater_sequence FROM TABLE WHERE id = 79",
        )
        server.forge("public.days", "mirror", "UPDATE TABLE SET n = -1 WHERE n IN (0, 30)")
        mended = server.prove(repair=True, timeout_s=120)
        postgres_database.sql("UPDATE items SET price = 1 WHERE id = 1")
        again = server.prove(timeout_s=120)
    finally:
        running.drain()
        thread.join(120)
    found = by_table(mended["found"])
    assert found["public.items"]["different"] == [{"id": 77, "kind": "k2"}]
    assert found["public.items"]["missing"] == [{"id": 78, "kind": "k0"}]
    assert found["public.items"]["extra"] == [{"id": 50079, "kind": "k1"}]
    assert found["public.days"]["different"] == [{"day": "2026-01-20"}, {"day": "2026-02-19"}]
    assert mended["equal"], mended
    assert again["equal"], again
    assert server.last_equal()["public.items"] == again["sequence"]


def test_long_values_that_changes_leave_out_are_compared_when_the_target_is_behind(
    spark: SparkSession,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are what the target holds, and nothing that is wrong there is hidden by that."""
    monkeypatch.setenv("DATABASE_URL", postgres_database.dsn())
    postgres_database.sql(
        "CREATE TABLE docs (id int PRIMARY KEY, views int, body text, meta jsonb);"
        "ALTER TABLE docs ALTER body SET STORAGE EXTERNAL, ALTER meta SET STORAGE EXTERNAL;"
        "INSERT INTO docs SELECT n, 0, repeat('löng', 900 * (n % 3)),"
        " jsonb_build_object('n', repeat('x', 3000)) FROM generate_series(1, 9) n;"
        "CREATE PUBLICATION headwater_shop FOR TABLE docs WITH (publish_via_partition_root)"
    )
    file = tmp_path / "shop.yaml"
    captured = (
        "version: 1\nname: shop\nsource: {url: '${DATABASE_URL}', tables: [docs]}\n"
        "log: {path: shop.hwlog}\nserver: {enabled: false}\n"
    )
    kept = f"{captured}spark: {{target: lake, trigger: 1s}}\n"
    file.write_text(kept)
    docs = Proven(spark, file)
    docs.pipeline().run(once=True)
    postgres_database.sql(
        "UPDATE docs SET views = views + 1; UPDATE docs SET id = -id WHERE id > 6"
    )
    file.write_text(captured)
    Pipeline(load_config(file)).run(once=True)
    file.write_text(kept)
    proof = docs.prove()
    assert proof["equal"], proof
    assert proof["tables"][0]["rolled_forward"] == 12
    docs.forge(
        "public.docs",
        "mirror",
        "UPDATE TABLE SET body = concat(body, '.') WHERE id = 2",
        "UPDATE TABLE SET meta = NULL WHERE id = 7",
        "DELETE FROM TABLE WHERE id = 4",
    )
    mended = docs.prove(repair=True, timeout_s=60)
    found = mended["found"]["tables"][0]
    assert found["different"] == [{"id": -7}, {"id": 2}]
    assert found["missing"] == [{"id": 4}]
    assert mended["equal"], mended
