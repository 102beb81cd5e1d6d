"""The commands on a real PostgreSQL server, as a role with no more rights than capture needs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fix_postgres import PASSWORDS, PostgresDatabase, PostgresServers
from tests.integration.cli.conftest import Cli, Done

SHOP = """
CREATE TABLE customers (id int PRIMARY KEY, name text, notes text);
CREATE TABLE orders (id bigint PRIMARY KEY, customer int REFERENCES customers, total numeric);
INSERT INTO customers VALUES (1, 'Ada', 'a'), (2, 'Grace', 'b');
INSERT INTO orders VALUES (10, 1, 12.50), (11, 2, 7);
"""
PIPELINE = """\
version: 1
name: NAME
source:
  url: ${DATABASE_URL}
  tables: [customers, orders]
log:
  path: shop.hwlog
sinks:
  - {name: audit, type: file, path: changes.jsonl}
"""


@dataclass(frozen=True)
class Shop:
    """Commands about one database; no password may appear in anything they print."""

    cli: Cli
    database: PostgresDatabase

    def __call__(self, *words: str | Path, user: str = "capture", **environment: str) -> Done:
        given = {"DATABASE_URL": self.database.dsn(user)} | environment
        done = self.cli(*words, timeout_s=60, **given)
        for password in (*PASSWORDS.values(), "wrong-pw-8Jd"):
            assert password not in done.out + done.err
        return done

    def result(self, *words: str | Path, **environment: str) -> dict[str, Any]:
        envelope = self(*words, "--json", **environment).json()
        assert envelope["error"] is None, envelope
        result: dict[str, Any] = envelope["result"]
        return result

    def slots(self) -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in self.result("slots", "list")["slots"]}

    def findings(self, **environment: str) -> dict[str, dict[str, Any]]:
        done = self("doctor", "shop.yaml", "--json", **environment)
        found = done.json()["result"]["findings"]
        return {each["check"]: each for each in found}


@pytest.fixture
def shop(cli: Cli, postgres_database: PostgresDatabase) -> Iterator[Shop]:
    postgres_database.sql(SHOP)
    (cli.directory / "shop.yaml").write_text(PIPELINE.replace("NAME", postgres_database.name))
    yield Shop(cli, postgres_database)
    for path in cli.directory.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [word for word in PASSWORDS.values() if word.encode() in content], path


@pytest.fixture
def prepared(shop: Shop) -> Shop:
    owner = shop.database.dsn("app")
    assert shop("setup", "postgres", owner, "--config", "shop.yaml").code == 0
    return shop


def lines(shop: Shop) -> list[dict[str, Any]]:
    text = (shop.cli.directory / "changes.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_init_lists_the_tables_and_keeps_the_password_out_when_the_url_has_one(shop: Shop) -> None:
    shop.database.sql("CREATE TABLE keyless (a int)")
    done = shop("init", "new.yaml", "--from", shop.database.dsn())
    assert done.code == 0
    assert "public.keyless  no replica identity" in done.out
    assert "export DATABASE_URL='postgresql://capture:***@127.0.0.1" in done.out
    text = (shop.cli.directory / "new.yaml").read_text()
    assert "url: ${DATABASE_URL}" in text
    assert '- "public.customers"\n    - "public.orders"\n' in text
    assert "keyless" not in text
    assert f"slot: headwater_{shop.database.name}" in text
    assert shop("validate", "new.yaml").code == 0
    assert shop("validate", "new.yaml", DATABASE_URL="").code == 2


def test_validate_shows_no_password_when_it_dumps_the_configuration(shop: Shop) -> None:
    source = shop.result("validate", "shop.yaml")["config"]["source"]
    assert source["url"].startswith("postgresql://capture:***@127.0.0.1")


def test_setup_prints_every_statement_and_changes_nothing_when_it_is_a_dry_run(shop: Shop) -> None:
    owner = shop.database.dsn("app")
    done = shop("setup", "postgres", owner, "--role", "capture", "--dry-run")
    assert done.code == 0
    for part in (
        'GRANT SELECT ON "public"."orders" TO "capture";',
        f'CREATE PUBLICATION "headwater_{shop.database.name}" FOR TABLE ONLY "public"."customers"',
        "CREATE OR REPLACE FUNCTION headwater.context(facts jsonb) RETURNS void\nLANGUAGE sql",
        "CREATE EVENT TRIGGER headwater_altered",
    ):
        assert part in done.out
    assert shop.database.sql("SELECT count(*) FROM pg_publication") == [(0,)]
    assert shop.database.sql("SELECT to_regnamespace('headwater')") == [(None,)]


def test_setup_does_what_the_role_may_and_is_at_rest_when_repeated(shop: Shop) -> None:
    shop.database.sql("REVOKE SELECT ON customers, orders FROM capture")
    words = ("setup", "postgres", shop.database.dsn("app"), "--role", "capture")
    first = shop.result(*words)
    assert first["ready"]
    refused = {step["name"]: bool(step["refused"]) for step in first["steps"]}
    assert refused == {
        "rights": False,
        "publication": False,
        "context function": False,
        "event triggers": True,
    }
    shop.database.sql("SELECT count(*) FROM orders", user="capture")
    assert "publication" not in [step["name"] for step in shop.result(*words)["steps"]]
    as_superuser = shop.result("setup", "postgres", shop.database.dsn("postgres"))
    assert [(step["name"], step["refused"]) for step in as_superuser["steps"]] == [
        ("event triggers", "")
    ]
    assert shop.result("setup", "postgres", shop.database.dsn("postgres"))["steps"] == []


def test_setup_says_the_sql_and_fails_when_the_role_may_not_publish(shop: Shop) -> None:
    done = shop("setup", "postgres", shop.database.dsn())
    assert done.code == 1
    assert "CREATE PUBLICATION" in done.out
    assert "is not ready" in done.out


@pytest.mark.parametrize(
    ("sql", "words", "code"),
    [
        ("CREATE TABLE bare (a int)", (), "postgres-no-identity"),
        ("SELECT 1", ("--role", "nobody_here"), "postgres-role"),
        ("SELECT 1", ("--tables", "custmers"), "postgres-no-table"),
        ("SELECT 1", ("--publication", "Not-A-Name"), "config-invalid"),
    ],
)
def test_setup_is_refused_with_a_code_when_it_could_not_work(
    shop: Shop, sql: str, words: tuple[str, ...], code: str
) -> None:
    shop.database.sql(sql)
    done = shop("setup", "postgres", shop.database.dsn("app"), *words, "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == code


def test_setup_takes_everything_out_and_names_the_slots_left_when_uninstalled(
    prepared: Shop,
) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    words = ("setup", "postgres", prepared.database.dsn("app"), "--uninstall")
    outcome = prepared.result(*words)
    name = f"headwater_{prepared.database.name}"
    assert outcome == {"publication": name, "slots": [name]}
    assert prepared.database.sql("SELECT count(*) FROM pg_publication") == [(0,)]
    assert prepared.database.sql("SELECT to_regnamespace('headwater')") == [(None,)]
    assert prepared.result(*words)["publication"] is None


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


def test_doctor_has_no_complaint_but_the_open_limit_when_all_is_prepared(prepared: Shop) -> None:
    before = prepared("doctor", "shop.yaml", "--json")
    assert before.code == 0
    assert prepared("run", "shop.yaml", "--once").code == 0
    found = prepared.findings()
    wrong = [name for name, each in found.items() if each["severity"] in {"warning", "error"}]
    assert [name for name in wrong if name != "max_slot_wal_keep_size"] == []
    assert "has what the log lacks" in found["slot"]["evidence"]
    assert found["role"]["severity"] == "ok"


def test_doctor_finds_what_is_wrong_and_its_sql_puts_it_right(prepared: Shop) -> None:
    database = prepared.database
    database.sql(
        "ALTER TABLE orders REPLICA IDENTITY NOTHING; REVOKE SELECT ON customers FROM capture;"
        f"ALTER PUBLICATION headwater_{database.name} DROP TABLE customers;"
        "CREATE UNLOGGED TABLE cache (id int PRIMARY KEY)"
    )
    path = prepared.cli.directory / "shop.yaml"
    path.write_text(path.read_text().replace("orders]", "orders, cache]"))
    assert prepared("doctor", "shop.yaml").code == 2
    found = prepared.findings()
    codes = {name: each["code"] for name, each in found.items() if each["severity"] != "ok"}
    assert codes["replica identity"] == "postgres-no-identity"
    assert codes["rights"] == "postgres-privilege"
    assert codes["publication"] == "postgres-publication"
    assert codes["unlogged tables"] == "postgres-unlogged"
    for check in ("replica identity", "rights", "publication"):
        database.sql(found[check]["fix"])
    database.sql(found["unlogged tables"]["fix"].partition(";")[0])
    database.sql(prepared.findings()["publication"]["fix"])  # the table that is logged now
    after = prepared("doctor", "shop.yaml")
    assert after.code == 0, after.out


def test_doctor_finds_the_gap_when_the_slot_was_made_anew(prepared: Shop) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    name = f"headwater_{prepared.database.name}"
    prepared.database.sql("SELECT pg_drop_replication_slot(%s)", name, user="capture")
    assert prepared.findings()["slot"]["code"] == "postgres-slot-missing"
    prepared.database.sql("INSERT INTO customers VALUES (3, 'Alan', '')")
    create = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
    prepared.database.sql(create, name, user="capture")
    assert prepared.findings()["slot"]["code"] == "source-gap"


@pytest.mark.parametrize(
    ("user", "password", "database", "code"),
    [
        ("capture", "wrong-pw-8Jd", None, "postgres-auth"),
        ("capture", None, "no_such_database", "postgres-no-database"),
    ],
)
def test_doctor_says_why_it_cannot_connect_when_it_cannot(
    shop: Shop, user: str, password: str | None, database: str | None, code: str
) -> None:
    port = shop.database.server.port
    name = database or shop.database.name
    url = f"postgresql://{user}:{password or PASSWORDS[user]}@127.0.0.1:{port}/{name}"
    assert shop("doctor", "shop.yaml", DATABASE_URL=url).code == 2
    assert shop.findings(DATABASE_URL=url)["database"]["code"] == code


def test_doctor_warns_of_a_server_that_cannot_be_captured(
    cli: Cli, postgres_servers: PostgresServers
) -> None:
    server = postgres_servers.start({"wal_level": "replica", "max_replication_slots": "0"})
    database = postgres_servers.database(server)
    database.sql(SHOP)
    (cli.directory / "shop.yaml").write_text(PIPELINE.replace("NAME", "shop"))
    found = Shop(cli, database).findings()
    assert found["wal_level"]["code"] == "postgres-wal-level"
    assert found["max_replication_slots"]["code"] == "postgres-limit"
    postgres_servers.discard(server)


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
