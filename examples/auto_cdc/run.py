"""Run the pipeline of this folder on a shop that was just made, and compare what came of it.

    python run.py --jar spark-catalyst_2.13-4.2.0-tests.jar

Needs `pyspark[pipelines]`; README.md tells which connectors Spark 4.2 takes as a target.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pyarrow.dataset as ds

import headwater
from headwater.app.demo.shop import create_shop

CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
CHANGES = (
    "UPDATE customers SET id = 50 WHERE id = 4",
    "DELETE FROM customers WHERE id = 2",
    "UPDATE customers SET name = 'Renamed' WHERE id = 1",
    "INSERT INTO customers (id, email, name, tier) VALUES (2, 'b@shop.example', 'Back', 'gold')",
    "DELETE FROM customers WHERE id = 3",
)
# The catalog forgets its tables with the process, so the pipeline itself keeps a copy.
COPY = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession


@dp.materialized_view(name="spark_catalog.default.customers_copy", format="parquet")
def customers_copy() -> DataFrame:
    return SparkSession.active().read.table("lake.shop.customers")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jar", type=Path, required=True, help="the jar of the target's connector")
    parser.add_argument("--catalog", default=CATALOG, help="the class of its catalog")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-auto-cdc-") as name:
        folder = Path(name)
        database = captured(folder)
        run_pipeline(folder, given.jar.resolve(), given.catalog)
        rows = ds.dataset(folder / "warehouse" / "customers_copy").to_table().to_pylist()
        wanted = [dict(row) for row in database.execute("SELECT * FROM customers ORDER BY id")]
        held = [{key: row[key] for key in wanted[0]} for row in rows]
        if sorted(held, key=lambda row: row["id"]) != wanted:
            sys.exit(f"the table differs:\n{held}\n{wanted}")
        print(f"{len(held)} rows, equal to the database")


def captured(folder: Path) -> sqlite3.Connection:
    """A shop with a history, and its log beside it."""
    path = folder / "shop.db"
    create_shop(path, customers=5)
    url = f"sqlite:///{path}"
    database = sqlite3.connect(path, isolation_level=None)
    database.row_factory = sqlite3.Row
    for statements in ((), CHANGES):
        for statement in statements:
            database.execute(statement)
        with headwater.capture(url, log=folder / "shop.hwlog", until="head") as changes:
            for batch in changes:
                batch.ack()
    return database


def run_pipeline(folder: Path, jar: Path, catalog: str) -> None:
    """`spark-pipelines run` on a copy of this folder."""
    pipeline = shutil.copytree(Path(__file__).parent, folder / "pipeline")
    (pipeline / "transformations" / "copy.py").write_text(COPY)
    spec = pipeline / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/headwater-auto-cdc", str(folder / "storage")))
    conf = {
        "spark.jars": jar,
        "spark.sql.catalog.lake": catalog,
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.shuffle.partitions": 1,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    (folder / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in conf.items())
    )
    said = {
        "HEADWATER_LOG": str(folder / "shop.hwlog"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = Path(sysconfig.get_path("scripts")) / "spark-pipelines"
    subprocess.run(
        [command, "run", "--spec", spec], env={**os.environ, **said}, cwd=pipeline, check=True
    )


if __name__ == "__main__":
    main()
