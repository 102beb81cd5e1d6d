"""`headwater run` on a real database, with other processes that write, read and interrupt."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.app.demo.shop import connect, create_shop
from headwater.app.demo.writer import write
from headwater.log import SqliteLog
from tests.integration.cli.conftest import Cli, eventually, running

PIPELINE = """\
version: 1
name: shop
source:
  url: sqlite:///shop.db
log:
  path: shop.hwlog
sinks:
  - {name: audit, type: file, path: changes.jsonl}
  - {name: orders, type: file, path: orders.jsonl, tables: [orders]}
server:
  port: PORT
"""


@pytest.fixture
def pipeline(cli: Cli) -> Path:
    create_shop(cli.directory / "shop.db", customers=20)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = cli.directory / "shop.yaml"
    path.write_text(PIPELINE.replace("PORT", str(port)))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def head_of(cli: Cli) -> int:
    path = cli.directory / "shop.hwlog"
    return SqliteLog(path).info().bounds.head if path.exists() else 0


def test_run_once_delivers_every_row_once_when_repeated(cli: Cli, pipeline: Path) -> None:
    first = cli("run", "shop.yaml", "--once", "--json").json()
    assert first["ok"]
    rows = first["result"]["log"]["head"]
    assert len(lines(cli.directory / "changes.jsonl")) == rows
    done = write(cli.directory / "shop.db", 1, seed=5)
    second = cli("run", "shop.yaml", "--once", "--json").json()
    assert second["result"]["log"]["head"] > rows + done // 2
    events = lines(cli.directory / "changes.jsonl")
    assert len(events) == second["result"]["log"]["head"]
    assert {event["table"] for event in lines(cli.directory / "orders.jsonl")} == {"orders"}
    assert pipeline.exists()


def test_run_drains_and_exits_with_0_when_interrupted(cli: Cli, pipeline: Path) -> None:
    slow = "delivery.before_write=sleep:4"  # so that work is pending when the end is asked for
    with running(cli, HEADWATER_FAILPOINT=slow) as process:
        eventually(lambda: head_of(cli) > 0)
        before = head_of(cli)
        write(cli.directory / "shop.db", 1, seed=6)
        eventually(lambda: head_of(cli) > before)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "everything delivered" in out
    assert len(lines(cli.directory / "changes.jsonl")) == head_of(cli)
    assert "Traceback" not in err
    for line in err.splitlines():
        json.loads(line)  # in a pipe, every record is one JSON object
    assert pipeline.exists()


def test_run_serves_status_when_asked_over_http(cli: Cli, pipeline: Path) -> None:
    port = pipeline.read_text().split("port: ")[1].strip()
    with running(cli) as process:
        eventually(lambda: head_of(cli) > 0)
        base = f"http://127.0.0.1:{port}"
        eventually(lambda: httpx.get(f"{base}/readyz").status_code == 200)
        status = httpx.get(f"{base}/api/status").json()
        assert status["name"] == "shop"
        assert status["capture"]["state"] == "streaming"
        assert "headwater_log_head" in httpx.get(f"{base}/metrics").text
        seen = cli("status", "shop.yaml", "--json").json()["result"]
        assert seen["live"]["capture"]["state"] == "streaming"
        assert str(process.pid) in seen["writer"]
        second = cli("run", "shop.yaml", "--once")
        assert second.code == 3
        assert "server-bind" in second.err
        taken = pipeline.read_text().replace(port, "0")
        (cli.directory / "other.yaml").write_text(taken)
        third = cli("run", "other.yaml", "--once")
        assert third.code == 1
        assert "log-locked" in third.err
        assert f"process {process.pid}" in third.err
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert cli("status", "shop.yaml", "--json").json()["result"]["writer"] == "not running"


def test_run_goes_on_where_it_was_when_killed(cli: Cli, pipeline: Path) -> None:
    with running(cli) as process:
        eventually(lambda: head_of(cli) > 0)
        write(cli.directory / "shop.db", 0.5, seed=7)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
    write(cli.directory / "shop.db", 0.5, seed=8)
    assert cli("run", "shop.yaml", "--once").code == 0
    events = lines(cli.directory / "changes.jsonl")
    assert len(events) == head_of(cli)
    offsets = [event["source"]["offset"] for event in events]
    assert len(offsets) == len(set(offsets))
    assert pipeline.exists()


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        (("tables: [orders]", "tables: [orders]"), 0, []),
        (("shop.db", "shop.db\n  tables: [ordrs]"), 2, ["table-unknown", "did you mean orders?"]),
        (("shop.db", "nope.db"), 3, ["source-missing", "there are: shop.db"]),
        (("shop.db", "shop.yaml"), 3, ["source-not-a-database"]),
        (("path: shop.hwlog", "path: /proc/x/shop.hwlog"), 3, ["log-read-only"]),
        (("path: changes.jsonl", "path: no/such/changes.jsonl"), 3, ["sink"]),
        (
            ("type: file, path: changes.jsonl", "type: file, format: xml, path: c"),
            2,
            ["format-unknown", "headwater-json"],
        ),
    ],
)
def test_run_says_what_is_wrong_when_something_it_names_is(
    cli: Cli, pipeline: Path, change: tuple[str, str], code: int, expected: list[str]
) -> None:
    pipeline.write_text(pipeline.read_text().replace(*change, 1))
    done = cli("run", "shop.yaml", "--once")
    assert done.code == code, done.err
    for text in expected:
        assert text in done.err


def test_run_waits_for_the_lock_when_the_database_is_busy(cli: Cli, pipeline: Path) -> None:
    db = connect(cli.directory / "shop.db")
    db.execute("BEGIN IMMEDIATE")
    with running(cli, "--once") as process:
        time.sleep(3)
        assert process.poll() is None
        db.execute("ROLLBACK")
        db.close()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert pipeline.exists()


def test_log_repair_restores_the_state_when_a_batch_is_damaged(cli: Cli, pipeline: Path) -> None:
    assert cli("run", "shop.yaml", "--once").code == 0
    with sqlite3.connect(cli.directory / "shop.hwlog") as db:
        db.execute(
            "UPDATE segment SET payload = zeroblob(length(payload)) WHERE first_seq ="
            " (SELECT min(first_seq) FROM segment)"
        )
    assert "log-corrupt" in cli("tail", "shop.yaml", "--from", "earliest").err
    assert "--config FILE" in cli("log", "repair", "shop.hwlog").err
    planned = cli("log", "repair", "shop.hwlog", "--config", "shop.yaml", "--dry-run")
    assert planned.code == 0
    assert cli("log", "check", "shop.hwlog").code == 1
    assert cli("log", "repair", "shop.hwlog", "--config", "shop.yaml").code == 0
    assert cli("log", "check", "shop.hwlog").code == 0
    assert (cli.directory / "shop.hwlog.damaged").exists()
    assert "nothing to repair" in cli("log", "repair", "shop.hwlog").out
    rows = cli("tail", "shop.yaml", "--from", "earliest", "--table", "customers", "--json").json()
    assert {change["op"] for change in rows["result"]["changes"]} >= {"truncate", "read"}
    assert pipeline.exists()
