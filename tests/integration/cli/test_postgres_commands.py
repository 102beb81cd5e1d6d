"""Capture, slots and the log of a PostgreSQL pipeline, as commands."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing
from typing import Any

import httpx
import psycopg

from tests.integration.cli.conftest import Shop, eventually, running


def lines(shop: Shop) -> list[dict[str, Any]]:
    text = (shop.cli.directory / "changes.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_run_delivers_rows_and_changes_once_when_repeated(prepared: Shop) -> None:
    first = prepared.result("run", "shop.yaml", "--once")
    assert first["source"].startswith("postgresql://capture:***@")
    assert [event["table"] for event in lines(prepared)] == ["customers"] * 2 + ["orders"] * 2
    prepared.database.sql(
        "BEGIN; SELECT headwater.context('{\"user\": 7}');"
        "UPDATE orders SET total = 13 WHERE id = 10; DELETE FROM orders WHERE id = 11; COMMIT"
    )
    second = prepared.result("run", "shop.yaml", "--once")
    assert second["log"]["head"] == 6
    assert [event["op"] for event in lines(prepared)[4:]] == ["update", "delete"]
    tail = prepared.result("tail", "shop.yaml", "--table", "public.orders", "--key", "10")
    assert [change["after"]["total"] for change in tail["changes"]] == ["12.50", "13"]
    status = prepared("status", "shop.yaml")
    assert status.code == 0
    assert "postgresql://capture:***@" in status.out


def test_run_shows_how_much_log_the_slot_holds_back_when_metrics_are_asked_for(
    prepared: Shop,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = prepared.cli.directory / "shop.yaml"
    path.write_text(f"{path.read_text()}server:\n  port: {port}\n")
    with running(prepared.cli, DATABASE_URL=prepared.database.dsn()):
        eventually(lambda: "slot_retained_bytes" in _metrics(port))
        text = _metrics(port)
    for what in ("lag_bytes", "slot_retained_bytes"):
        assert f'headwater_source_gauge{{source="postgres",what="{what}"}}' in text


def _metrics(port: int) -> str:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/metrics").text
    except httpx.TransportError:  # it is not up yet
        return ""


def test_run_names_the_close_table_when_one_is_misspelt(shop: Shop) -> None:
    path = shop.cli.directory / "shop.yaml"
    path.write_text(path.read_text().replace("orders]", "ordres]"))
    done = shop("run", "shop.yaml", "--once")
    assert done.code == 2
    assert "did you mean orders?" in done.err


def test_run_fails_at_once_with_a_code_when_the_server_is_away(shop: Shop) -> None:
    done = shop(
        "run", "shop.yaml", "--once", DATABASE_URL="postgresql://a:wrong-pw-8Jd@127.0.0.1:1/x"
    )
    assert done.code == 1
    assert "postgres-unreachable" in done.err


def test_commands_say_what_to_install_when_the_driver_is_missing(shop: Shop) -> None:
    blocked = shop.cli.directory / "blocked"
    blocked.mkdir()
    (blocked / "psycopg.py").write_text("raise ModuleNotFoundError('no', name='psycopg')\n")
    for words in (("run", "shop.yaml"), ("slots", "list"), ("doctor", "shop.yaml")):
        done = shop(*words, PYTHONPATH=str(blocked))
        assert done.code == 3
        assert "pip install 'headwater[postgres]'" in done.out + done.err
        assert "postgres-missing" in done.out + done.err
    assert shop("validate", "shop.yaml", PYTHONPATH=str(blocked)).code == 0


def test_slots_are_listed_and_dropped_when_nobody_reads_them(prepared: Shop) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    name = f"headwater_{prepared.database.name}"
    slot = prepared.slots()[name]
    assert (slot["plugin"], slot["pid"], slot["wal_status"]) == ("pgoutput", None, "reserved")
    assert slot["retained_bytes"] >= 0
    text = prepared("slots", "list", "shop.yaml").out
    assert "READ BY" in text
    assert "nobody" in text
    near = prepared("slots", "drop", "shop.yaml", name[:-1] + "_")
    assert near.code == 2
    assert f"did you mean {name}?" in near.err
    assert prepared("slots", "drop", "shop.yaml", name).code == 0
    assert name not in prepared.slots()
    gap = prepared("run", "shop.yaml", "--once")
    assert gap.code == 1
    assert "postgres-slot-missing" in gap.err


def test_slot_is_not_dropped_when_somebody_reads_it(prepared: Shop) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    name = f"headwater_{prepared.database.name}"
    url = prepared.database.dsn()
    with psycopg.connect(url, replication="database", autocommit=True) as reader:
        options = f"(proto_version '1', publication_names '{name}')"
        command = f"START_REPLICATION SLOT {name} LOGICAL 0/0 {options}"
        reader.pgconn.send_query(command.encode())
        reader.pgconn.flush()
        while prepared.slots()[name]["pid"] is None:
            pass
        assert f"process {prepared.slots()[name]['pid']}" in prepared.slots()[name]["read_by"]
        done = prepared("slots", "drop", "shop.yaml", name)
        assert done.code == 1
        assert "postgres-slot-active" in done.err
        assert prepared.findings()["slot"]["code"] == "postgres-slot-active"
        reader.close()


def test_log_is_repaired_from_the_server_when_it_is_damaged(prepared: Shop) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    prepared.database.sql("DELETE FROM orders WHERE id = 11")
    path = prepared.cli.directory / "shop.hwlog"
    with closing(sqlite3.connect(path)) as log, log:
        log.execute("UPDATE segment SET payload = zeroblob(length(payload))")
    assert prepared("log", "check", path).code == 1
    done = prepared("log", "repair", path, "--config", "shop.yaml")
    assert done.code == 0, done.err
    assert prepared("log", "check", path).code == 0
    changes = prepared.result("tail", "shop.yaml", "--table", "orders", "--from", "earliest")
    assert [change["key"] for change in changes["changes"]][-1] == {"id": 10}
