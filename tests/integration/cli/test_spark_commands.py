"""Commands that start Spark: demo, run with tables, verify."""

from __future__ import annotations

import shutil
import signal
import socket
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pyspark.sql import SparkSession

from headwater.app.demo.shop import create_shop
from headwater.app.demo.writer import write
from tests.fix_spark import CONF_DIR
from tests.integration.cli.conftest import Cli, Shop, eventually, running

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
PATIENCE_S = 600.0
_TABLES = [f"{name}@mirror" for name in ("customers", "products", "orders", "order_items")]


@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_demo_proves_the_tables_equal_when_the_writer_has_ended(
    cli: Cli, table_format: str
) -> None:
    words = ("demo", "--seconds", "4", "--table-format", table_format, "--json")
    # With Spark's own settings, as on anybody's machine.
    envelope = cli(*words, timeout_s=PATIENCE_S, **{CONF_DIR: ""}).json()
    assert envelope["ok"], envelope
    result = envelope["result"]
    assert result["transactions"] > 20
    assert result["proof"]["equal"]
    assert [table["table"] for table in result["proof"]["tables"]] == [
        *("customers", "products", "orders", "order_items")
    ]
    assert (cli.directory / "headwater-demo" / "shop.yaml").exists()


def test_verify_names_the_rows_when_the_target_was_forged(
    cli: Cli, warm_jvm: dict[str, str]
) -> None:
    create_shop(cli.directory / "shop.db", customers=10)
    assert cli("init", "shop.yaml", "--from", "shop.db").code == 0
    file = cli.directory / "shop.yaml"
    port = _free_port()
    served = file.read_text().replace("port: 8321", f"port: {port}")
    file.write_text(served.replace("trigger: 5s", "trigger: 1s"))
    capture = _without_spark(file)
    assert cli("run", capture, "--once").code == 0
    write(cli.directory / "shop.db", 0.5, seed=3)
    behind = cli("verify", "shop.yaml", "--timeout", "1", timeout_s=PATIENCE_S, **warm_jvm)
    assert behind.code == 1
    assert "verify-timeout" in behind.err
    told = _told_while_it_runs(cli, port, warm_jvm)
    _told_afterwards(cli, told)
    _forge(cli.directory / "shop.db")
    forged = cli("verify", "shop.yaml", timeout_s=PATIENCE_S, **warm_jvm)
    assert forged.code == 1
    lines = [line.strip() for line in forged.out.splitlines()]
    verdicts = [line for line in lines if line.startswith(("equal", "DIFFERS"))]
    assert "orders was never proven equal" in lines
    assert ["DIFFERS" in line for line in verdicts if "orders" in line] == [True]
    assert all("equal" in line for line in verdicts if "customers" in line), forged.out
    assert "differs in id=1" in forged.out
    never = cli("status", "shop.yaml")
    assert ["orders", "never", "differed", "at"] in [
        line.split()[:4] for line in never.out.splitlines()
    ]
    mended = cli(
        "verify", "shop.yaml", "--repair", "--json", timeout_s=PATIENCE_S, **warm_jvm
    ).json()
    assert mended["ok"], mended
    (repaired,) = mended["result"]["repaired"]
    assert (repaired["table"], repaired["read"], repaired["absent"]) == ("orders", 1, 0)
    proven = cli("status", "shop.yaml", "--json").json()["result"]["proofs"]
    assert {each["equal_sequence"] for each in proven} == {mended["result"]["sequence"]}
    assert "LAST PROVEN EQUAL AT" in cli("status", "shop.yaml").out

    write(cli.directory / "shop.db", 0.2, seed=4)
    assert cli("run", capture, "--once").code == 0
    result = cli("status", "shop.yaml", "--json").json()["result"]
    waiting = result["log"]["head"] - mended["result"]["sequence"]
    assert waiting > 0
    assert {each["lag_events"] for each in result["tables"].values()} == {waiting}
    assert all(each["lag_bytes"] and each["lag_s"] for each in result["tables"].values())


def _told_while_it_runs(cli: Cli, port: int, jvm: dict[str, str]) -> dict[str, Any]:
    """What the process tells of its tables by metrics, it tells by `status` too.

    Only the listener can have told of a micro-batch while the stream has not ended.
    """
    with running(cli, **jvm) as process:
        eventually(lambda: process.poll() is not None or _have_taken(port), PATIENCE_S)
        assert process.poll() is None, process.communicate()[1]
        eventually(lambda: _is_at_the_head(port), 300)
        told = _metrics(port)
        assert told["headwater_spark_batch_seconds_count"] > 0
        assert told["headwater_spark_batch_seconds_sum"] > 0
        assert told["headwater_spark_lag_events"] == 0
        result: dict[str, Any] = cli("status", "shop.yaml", "--json").json()["result"]
        tables: dict[str, Any] = result["live"]["tables"]
        assert result["tables"] == tables
        assert {*tables} == {*_TABLES}
        for name, table in tables.items():
            of = f'{{table="{name}"}}'
            for unit, key in (("events", "lag_events"), ("bytes", "lag_bytes")):
                assert told[f"headwater_spark_table_lag_{unit}{of}"] == table[key] == 0
            assert told[f"headwater_spark_table_lag_seconds{of}"] == table["lag_s"] == 0
            assert told[f"headwater_spark_table_sequence{of}"] == table["sequence"] > 0
            assert told[f"headwater_spark_table_events_total{of}"] >= table["events"] > 0
            seconds = told[f"headwater_spark_table_seconds_sum{of}"]
            assert round(seconds, 3) >= table["seconds"] > 0
            assert table["events_per_s"] > 0
            assert told[f"headwater_spark_table_write_amplification{of}"] > 0
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    return tables


def _told_afterwards(cli: Cli, told: dict[str, Any]) -> None:
    result = cli("status", "shop.yaml", "--json").json()["result"]
    assert result["live"] is None
    assert result["tables"] == told


def _metrics(port: int) -> dict[str, float]:
    """By name and labels; none while the server is not there."""
    try:
        lines = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30).text.splitlines()
    except httpx.ConnectError:
        return {}
    told = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in told}


def _have_taken(port: int) -> bool:
    """Whether every table has taken a batch, as it tells while the batch goes on."""
    told = _metrics(port)
    return all(f'headwater_spark_table_seconds_count{{table="{name}"}}' in told for name in _TABLES)


def _is_at_the_head(port: int) -> bool:
    """Whether a micro-batch has ended, and no event waits."""
    told = _metrics(port)
    batches = told.get("headwater_spark_batch_seconds_count", 0)
    head = told.get('headwater_log_head{source="sqlite"}')
    return batches > 0 and told.get("headwater_spark_sequence") == head


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def test_verify_names_the_key_when_a_row_of_a_postgres_mirror_was_forged(
    shop: Shop, spark: SparkSession, warm_jvm: dict[str, str]
) -> None:
    shop.database.sql(
        "CREATE TABLE lines (place int, no int, at timestamptz, doc jsonb, share float8, raw bytea,"
        " PRIMARY KEY (place, no))"
    )
    shop.database.sql(
        "INSERT INTO lines VALUES (7, 2, '1999-12-31 00:00Z', NULL, 'NaN', NULL),"
        " (7, -1, '2024-02-29 23:59:59.5+02', '{\"a\": [1.50]}', 0.1, '\\x00')"
    )
    assert shop("init", "shop.yaml", "--from", shop.database.dsn(), "--force").code == 0
    file = shop.cli.directory / "shop.yaml"
    file.write_text(file.read_text().replace("port: 8321", "port: 0"))
    assert shop("setup", "postgres", shop.database.dsn("app"), "--config", "shop.yaml").code == 0
    patient = replace(shop, patience_s=PATIENCE_S)
    done = patient("run", "shop.yaml", "--once", **warm_jvm)
    assert done.code == 0, done.err
    (table,) = shop.cli.directory.glob("**/*lines")
    spark.sql(f"UPDATE delta.`{table}` SET share = 0.2 WHERE no = -1")
    forged = patient("verify", "shop.yaml", **warm_jvm)
    assert forged.code == 1, forged.out + forged.err
    listed = [line.split() for line in forged.out.splitlines() if " public." in line]
    assert [words[:2] for words in listed if words[0] in {"equal", "DIFFERS"}] == [
        ["equal", "public.customers"],
        ["DIFFERS", "public.lines"],
        ["equal", "public.orders"],
    ]
    assert "public.lines: the target differs in no=-1, place=7\n" in forged.out + forged.err

    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT few CHECK (no < 9)")
    shop.database.sql("INSERT INTO lines VALUES (7, 9, NULL, NULL, NULL, NULL)")
    failed = patient("run", "shop.yaml", "--once", **warm_jvm)
    assert failed.code == 1
    assert "spark-failed" in failed.err
    assert "CHECK constraint few" in failed.err


def _without_spark(file: Path) -> str:
    """The same pipeline without its tables, for what needs no JVM; its name."""
    sections = yaml.safe_load(file.read_text())
    del sections["spark"]
    capture = file.with_name("capture.yaml")
    capture.write_text(yaml.safe_dump(sections))
    return capture.name


def _forge(database: Path) -> None:
    """Change a row behind the triggers' back, as a writer without them would."""
    with sqlite3.connect(database) as db:
        triggers = db.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute("UPDATE orders SET total = total + 1 WHERE id = 1")
        for _, sql in triggers:
            db.execute(sql)


def test_demo_names_the_way_out_when_java_is_missing(cli: Cli) -> None:
    done = cli("demo", "--seconds", "1", JAVA_HOME="/nonexistent", timeout_s=PATIENCE_S)
    assert done.code == 3
    assert "spark-java" in done.err
    assert "Java 17" in done.err


def test_demo_names_parquet_when_jars_cannot_be_fetched(cli: Cli, tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java is not None
    proxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 -Dhttp.proxyHost=127.0.0.1"
    done = cli(
        *("demo", "--seconds", "1"),
        timeout_s=PATIENCE_S,
        HEADWATER_CACHE=str(tmp_path / "empty"),
        JAVA_TOOL_OPTIONS=f"{proxy} -Dhttp.proxyPort=9",
    )
    assert done.code == 3
    assert "spark-jars" in done.err
    assert "--table-format parquet" in done.err


def test_demo_refuses_when_the_directory_belongs_to_someone_else(cli: Cli) -> None:
    (cli.directory / "mine").mkdir()
    (cli.directory / "mine" / "thesis.txt").write_text("years of work")
    done = cli("demo", "--directory", "mine")
    assert done.code == 2
    assert "file-exists" in done.err
    assert (cli.directory / "mine" / "thesis.txt").exists()
