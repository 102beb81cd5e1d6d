"""The examples run from their first cell to their last, and the pages quote them as they are."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.table.path import table_path
from tests.docs.markdown import ROOT, blocks, pages
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import publish

EXAMPLES = ROOT / "examples" / "spark"
CUSTOMERS = TableId("public", "customers")


@pytest.mark.spark
@pytest.mark.parametrize("name", ["scd2", "recover_checkpoint"])
def test_example_runs_from_start_to_end(spark: SparkSession, name: str) -> None:
    """Each checks what it shows; the session that is there is the one that it gets."""
    namespace = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert namespace["spark"].sparkContext is spark.sparkContext


@pytest.mark.spark
def test_examples_on_postgresql_run_from_start_to_end_and_again(
    spark: SparkSession,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres_database.sql("CREATE TABLE customers (id int PRIMARY KEY, name text)")
    postgres_database.sql("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo')")
    monkeypatch.setenv("DATABASE_URL", postgres_database.dsn())
    publish(postgres_database, publication=postgres_database.name)
    monkeypatch.setenv("HEADWATER_SLOT", postgres_database.name)
    monkeypatch.setenv("HEADWATER_FOLDER", str(tmp_path))

    runpy.run_path(str(EXAMPLES / "mirror_postgres.py"))
    postgres_database.sql("DELETE FROM customers WHERE id = 1")
    postgres_database.sql("INSERT INTO customers VALUES (3, 'Cy')")
    runpy.run_path(str(EXAMPLES / "mirror_postgres.py"))
    frame = spark.read.format("delta").load(table_path(f"{tmp_path}/lake", CUSTOMERS))
    assert sorted(frame.select("id", "name").collect()) == [(2, "Bo"), (3, "Cy")]

    runpy.run_path(str(EXAMPLES / "backfill.py"))
    frame = spark.read.format("delta").load(table_path(f"{tmp_path}/lake", CUSTOMERS))
    assert sorted(frame.select("id", "name").collect()) == [(2, "Bo"), (3, "Cy")]


@pytest.mark.spark
def test_example_of_a_cluster_keeps_tables_from_a_log_and_from_a_topic(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_FOLDER", str(tmp_path))
    monkeypatch.setenv("HEADWATER_KAFKA", kafka)
    monkeypatch.setenv("HEADWATER_TOPIC", topic)
    namespace = runpy.run_path(str(EXAMPLES / "on_a_cluster.py"))
    assert namespace["spark"].sparkContext is spark.sparkContext
    assert len(namespace["kept"](f"{tmp_path}/lake-of-topic")) == 990


def test_pages_quote_the_examples_as_they_are() -> None:
    """A block that is left out of the run because an example has it is in the example, verbatim."""
    quoted = 0
    for path in pages():
        for block in blocks(path):
            named = re.match(r"lines of (\S+),", block.reason_not_to_run or "")
            if named is not None:
                quoted += 1
                assert block.text in (ROOT / named[1]).read_text(), block.where
    assert quoted >= 4


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_is_a_notebook(path: Path) -> None:
    """Cells, the first of which is its title."""
    cells = re.split(r"^# %%", path.read_text(), flags=re.MULTILINE)
    assert cells[0] == ""
    assert cells[1].startswith(" [markdown]\n# # ")
    assert len(cells) > 5
