"""`headwater backfill` beside a real `headwater run` on a real PostgreSQL server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headwater.event import Operation
from headwater.log import SqliteLog
from tests.fix_postgres import PASSWORDS, PostgresDatabase
from tests.integration.cli.conftest import Cli, Done, eventually, running
from tests.integration.cli.test_terminal import on_terminal

ROWS = 600
SHOP = f"""
CREATE TABLE orders (id bigint PRIMARY KEY, pad text);
INSERT INTO orders SELECT i, repeat('x', 900) FROM generate_series(1, {ROWS}) i;
ANALYZE orders;
"""
PIPELINE = """\
version: 1
name: NAME
source:
  url: ${DATABASE_URL}
  tables: [orders]
  snapshot: never
  chunk_rows: 100
log:
  path: shop.hwlog
sinks:
  - {name: audit, type: file, path: changes.jsonl}
server: {enabled: false}
"""


@dataclass(frozen=True)
class Shop:
    """Commands about one pipeline."""

    cli: Cli
    database: PostgresDatabase

    @property
    def environment(self) -> dict[str, str]:
        return {"DATABASE_URL": self.database.dsn()}

    def __call__(self, verb: str, *words: str) -> Done:
        done = self.cli("backfill", verb, "shop.yaml", *words, timeout_s=60, **self.environment)
        assert PASSWORDS["capture"] not in done.out + done.err
        return done

    def result(self, verb: str, *words: str) -> dict[str, Any]:
        envelope = self(verb, *words, "--json").json()
        assert envelope["error"] is None, envelope
        result: dict[str, Any] = envelope["result"]
        return result

    def table(self) -> dict[str, Any]:
        (facts,) = self.result("status")["tables"]
        found: dict[str, Any] = facts
        return found

    def reads(self) -> list[int]:
        reader = SqliteLog(self.log).reader()
        try:
            events = [event for batch in reader.read(0) for event in batch]
        finally:
            reader.close()
        return [e.after["id"] for e in events if e.op is Operation.READ and e.after]

    @property
    def log(self) -> Path:
        return self.cli.directory / "shop.hwlog"

    def captures(self) -> bool:
        """Whether the slot is there and the stream runs."""
        found = self.database.sql(
            "SELECT active FROM pg_replication_slots WHERE database = %s", self.database.name
        )
        return found == [(True,)]


@pytest.fixture
def shop(cli: Cli, postgres_database: PostgresDatabase) -> Shop:
    postgres_database.sql(SHOP)
    (cli.directory / "shop.yaml").write_text(PIPELINE.replace("NAME", postgres_database.name))
    owner = postgres_database.dsn("app")
    assert cli("setup", "postgres", owner, "--config", "shop.yaml", DATABASE_URL=owner).code == 0
    return Shop(cli, postgres_database)


def test_rows_are_read_once_and_the_command_waits_when_capture_runs(shop: Shop) -> None:
    with running(shop.cli, **shop.environment):
        eventually(shop.captures)
        asked = shop.result("start", "orders", "--where", "id > 100", "--wait")
        assert asked["state"] == "taken"
        assert [(t["table"], t["state"], t["rows_done"]) for t in asked["tables"]] == [
            ("public.orders", "done", ROWS - 100)
        ]
        assert sorted(shop.reads()) == list(range(101, ROWS + 1))
        shown = shop("status")
        assert shown.code == 0
        assert "public.orders  done" in shown.out
        assert "0 unfinished, capture runs" in shown.out


def test_reading_is_steered_from_outside_when_it_is_slow(shop: Shop) -> None:
    with running(shop.cli, **shop.environment):
        eventually(shop.captures)
        assert shop("start", "orders", "--rows-per-s", "15").code == 0
        eventually(lambda: (shop.table()["rate"] or 0) > 0)
        facts = shop.table()
        assert (facts["state"], facts["rows_total"]) == ("reading", ROWS)
        assert facts["eta_s"] > 0
        assert shop("pause").code == 0
        paused = shop.table()
        assert paused["state"] == "paused"
        assert shop("start", "orders").code == 1, "the same rows are asked for already"
        assert shop.table()["rows_done"] == paused["rows_done"]
        assert shop("throttle", "0").code == 0
        assert shop("resume").code == 0
        eventually(lambda: shop.table()["state"] == "done")
        assert sorted(shop.reads()) == list(range(1, ROWS + 1))


def test_the_rest_is_forgotten_when_stopped(shop: Shop) -> None:
    with running(shop.cli, **shop.environment):
        eventually(shop.captures)
        shop.result("start", "orders", "--rows-per-s", "15")
        eventually(lambda: len(shop.reads()) > 0)
        assert shop("stop", "orders").code == 0
        assert shop.table()["state"] == "stopped"
        count = len(shop.reads())
        assert 0 < count < ROWS
        done = shop("stop", "--json")
        assert (done.code, done.json()["error"]["code"]) == (1, "backfill-none")


def test_the_request_waits_and_is_carried_out_when_capture_is_killed_and_comes_back(
    shop: Shop,
) -> None:
    with running(shop.cli, **shop.environment):
        eventually(shop.captures)
    asked = shop("start", "orders", "--rows-per-s", "200")
    assert asked.code == 0
    assert "no capture runs; the request waits for the next run" in asked.out
    assert "headwater run shop.yaml" in asked.out
    status = shop("status")
    assert "waits for the next run: start orders" in status.out
    assert "capture does not run" in status.out
    with running(shop.cli, **shop.environment):
        eventually(lambda: len(shop.reads()) > 30)
    assert len(shop.reads()) < ROWS
    with running(shop.cli, **shop.environment):
        eventually(lambda: shop.table()["state"] == "done")
    assert sorted(shop.reads()) == list(range(1, ROWS + 1))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("start", "nothing"), "backfill-table"),
        (("start", "orders", "--where", "id >"), "backfill-where"),
        (("start", "orders", "--where", "true; DROP TABLE orders"), "backfill-where"),
    ],
)
def test_a_wrong_request_is_refused_with_a_code_and_capture_goes_on(
    shop: Shop, words: tuple[str, ...], code: str
) -> None:
    with running(shop.cli, **shop.environment) as process:
        eventually(shop.captures)
        done = shop(*words, "--json")
        assert (done.code, done.json()["error"]["code"]) == (2, code)
        shop.result("start", "orders", "--where", "id = 1", "--wait")
        assert shop.reads() == [1]
        assert process.poll() is None


def test_a_terminal_shows_how_far_it_is(shop: Shop) -> None:
    with running(shop.cli, **shop.environment):
        eventually(shop.captures)
        words = ("backfill", "start", "shop.yaml", "orders", "--rows-per-s", "300", "--wait")
        written = on_terminal(shop.cli.directory, *words, env=shop.environment)
        assert "public.orders" in written
        assert "/s" in written
        assert f"read {ROWS} rows of orders" in written


def test_backfill_is_refused_at_once_when_the_source_cannot_do_it(cli: Cli) -> None:
    (cli.directory / "shop.yaml").write_text(
        "version: 1\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
    )
    done = cli("backfill", "start", "shop.yaml", "orders", "--json")
    assert (done.code, done.json()["error"]["code"]) == (2, "backfill-unsupported")


def test_backfill_is_refused_when_nothing_was_captured_yet(shop: Shop) -> None:
    done = shop("start", "orders", "--json")
    assert (done.code, done.json()["error"]["code"]) == (3, "log-missing")
