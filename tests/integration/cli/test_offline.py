"""Commands that need no running pipeline: configuration, set-up, logs, explanations."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headwater.app.demo.shop import create_shop
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, inserts, source_batch
from tests.integration.cli.conftest import Cli


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = cli.directory / "shop.db"
    create_shop(path, customers=5)
    return path


@pytest.fixture
def log(cli: Cli) -> Path:
    path = cli.directory / "items.hwlog"
    log = SqliteLog.create(path)
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 30, tx_id=1), 30))
    writer.close()
    log.cursor("billing", required=True).close()
    return path


def test_init_writes_a_valid_file_when_a_database_is_named(cli: Cli, shop: Path) -> None:
    done = cli("init", "shop.yaml", "--from", shop.name)
    assert done.code == 0
    assert "headwater setup sqlite" in done.out
    text = (cli.directory / "shop.yaml").read_text()
    assert "- order_items" in text
    assert "sqlite:///shop.db" in text
    valid = cli("validate", "shop.yaml", "--json").json()
    assert valid["ok"]
    assert valid["result"]["config"]["source"]["tables"] == [
        *("customers", "order_items", "orders", "products")
    ]


def test_init_refuses_when_the_file_is_there(cli: Cli) -> None:
    (cli.directory / "headwater.yaml").write_text("mine")
    done = cli("init")
    assert done.code == 2
    assert "file-exists" in done.err
    assert (cli.directory / "headwater.yaml").read_text() == "mine"
    assert cli("init", "--force").code == 0


def test_init_quotes_names_when_tables_are_strange(cli: Cli) -> None:
    with sqlite3.connect(cli.directory / "odd.db") as db:
        for name in (
            "true",
            "with space",
            'quo"te',
            "1st",
            "naïve",
            "${HOME}",
            "a: b",
            "new\nline",
        ):
            quoted = '"' + name.replace('"', '""') + '"'
            db.execute(f"CREATE TABLE {quoted} (id INTEGER PRIMARY KEY)")
    assert cli("init", "odd.yaml", "--from", "odd.db").code == 0
    tables = cli("validate", "odd.yaml", "--json").json()["result"]["config"]["source"]["tables"]
    assert sorted(tables) == sorted(
        ["true", "with space", 'quo"te', "1st", "naïve", "${HOME}", "a: b", "new\nline"]
    )


def test_validate_lists_every_problem_when_several_are_wrong(cli: Cli) -> None:
    (cli.directory / "bad.yaml").write_text("version: 1\nsorce: {}\nlog:\n  pat: x\n")
    done = cli("validate", "bad.yaml")
    assert done.code == 2
    assert "bad.yaml:2" in done.err
    assert "did you mean source?" in done.err
    assert "did you mean path?" in done.err
    error = cli("validate", "bad.yaml", "--json").json()["error"]
    assert [finding["line"] for finding in error["findings"]] == sorted(
        finding["line"] for finding in error["findings"]
    )
    assert {"sorce", "log.pat", "log.path", "source"} == {
        finding["configPath"] for finding in error["findings"]
    }


def test_validate_prints_a_schema_when_asked(cli: Cli) -> None:
    result = cli("validate", "--schema", "--json").json()["result"]
    assert result["title"] == "Config"


def test_secrets_stay_hidden_when_every_command_fails(cli: Cli) -> None:
    canary = "CANARY-5b1e"
    (cli.directory / "s.yaml").write_text(
        "version: 1\nname: ${P}\nsource: {url: 'postgres://u:CANARY-5b1e@h/d'}\n"
        "log: {path: a}\nserver: {token: '${P}', port: '${P}'}\n"
    )
    for words in (("validate",), ("run",), ("status",), ("verify",), ("doctor",), ("tail",)):
        for extra in ((), ("--json",)):
            done = cli(*words, "s.yaml", *extra, P=canary)
            assert done.code != 0
            assert canary not in done.out + done.err, words


def test_setup_installs_and_removes_capture_when_asked(cli: Cli, shop: Path) -> None:
    before = _schema(shop)
    planned = cli("setup", "sqlite", "shop.db", "--dry-run")
    assert planned.code == 0
    assert "CREATE TRIGGER" in planned.out
    assert _schema(shop) == before
    assert cli("setup", "sqlite", "sqlite:///shop.db", "--tables", "order*").code == 0
    again = cli("setup", "sqlite", "shop.db", "--json").json()
    assert again["result"]["captured"] == ["customers", "order_items", "orders", "products"]
    assert again["result"]["renewed"] == ["customers", "products"]
    assert cli("setup", "sqlite", "shop.db", "--remove").code == 0
    assert _schema(shop) == before


def test_setup_dry_run_prints_what_an_installation_executes_when_compared(
    cli: Cli, shop: Path
) -> None:
    planned = cli("setup", "sqlite", "shop.db", "--dry-run", "--json").json()["result"]["sql"]
    cli("setup", "sqlite", "shop.db")
    stored = {sql for _, sql in _schema(shop)}
    assert {sql for sql in planned if sql not in stored} == set()


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("setup", "sqlite", "no.db"), 3, ["source-missing", "there are: shop.db"]),
        (("setup", "sqlite", "x/no.db"), 3, ["source-missing", "does not exist either"]),
        (("setup", "sqlite", "text.txt"), 3, ["source-not-a-database"]),
        (("setup", "sqlite", "shop.db", "--tables", "ordrs"), 2, ["did you mean orders?"]),
        (("setup", "sqlite", "mysql://root:pw@h/d"), 2, ["source-unknown", "mysql", "sqlite"]),
        (("setup", "sqlite", "sqlite://shop.db"), 2, ["three slashes"]),
        (("validate", "no.yaml"), 2, ["config-missing", "headwater init"]),
        (("validate",), 2, ["usage", "FILE"]),
        (("tail", "no.hwlog"), 3, ["log-missing"]),
        (("tail", "text.txt"), 3, ["log-not-a-log"]),
        (("log", "info", "shop.db"), 3, ["log-not-a-log"]),
        (("log", "retain", "no.hwlog"), 2, ["--max-age"]),
        (("explain", "log-corupt"), 2, ["did you mean log-corrupt?"]),
        (("nonsense",), 2, ["nonsense", "--help"]),
        (("log",), 2, ["headwater log --help"]),
        (("run", "no.yaml"), 2, ["config-missing"]),
        (("status", "no.yaml"), 2, ["config-missing"]),
        (("verify", "no.yaml"), 2, ["config-missing"]),
    ],
)
def test_failure_says_what_and_what_next_when_a_user_slips(
    cli: Cli, shop: Path, words: tuple[str, ...], code: int, expected: list[str]
) -> None:
    assert shop.exists()
    (cli.directory / "text.txt").write_text("hello " * 1000)
    done = cli(*words)
    assert done.code == code
    assert not done.out
    for text in expected:
        assert text in done.err
    assert "→" in done.err
    envelope = cli(*words, "--json").json()
    assert not envelope["ok"]
    assert envelope["error"]["code"]
    assert envelope["error"]["hint"]


def test_setup_names_the_lock_when_another_process_holds_it(cli: Cli, shop: Path) -> None:
    with sqlite3.connect(shop, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        done = cli("setup", "sqlite", "shop.db")
        db.execute("ROLLBACK")
    assert done.code == 1
    assert "source-busy" in done.err


def test_log_info_shows_consumers_when_there_are_some(cli: Cli, log: Path) -> None:
    done = cli("log", "info", log.name)
    assert done.code == 0
    assert "30 (1 to 30)" in done.out
    assert "billing" in done.out
    assert cli("log", "info", log.name, "--json").json()["result"]["head"] == 30


def test_log_check_fails_when_bytes_were_changed(cli: Cli, log: Path) -> None:
    assert cli("log", "check", log.name).code == 0
    with sqlite3.connect(log) as db:
        db.execute("UPDATE segment SET payload = zeroblob(length(payload))")
    done = cli("log", "check", log.name)
    assert done.code == 1
    assert "1 to 30" in done.out
    assert "headwater log repair" in done.out


def test_log_retain_is_held_by_a_consumer_when_it_still_reads(cli: Cli, log: Path) -> None:
    done = cli("log", "retain", log.name, "--max-age", "1ms")
    assert done.code == 0
    assert "consumer billing still needs the rest" in done.out


def test_log_rewind_moves_a_consumer_when_told(cli: Cli, log: Path) -> None:
    cursor = SqliteLog(log).cursor("billing")
    cursor.ack(30)
    cursor.close()
    assert cli("log", "rewind", log.name, "billing", "10").code == 0
    assert SqliteLog(log).cursor("billing").acked == 10
    assert "cursor-unknown" in cli("log", "rewind", log.name, "nobody", "1").err
    assert "cursor-ahead" in cli("log", "rewind", log.name, "billing", "99").err


def test_tail_shows_the_last_changes_when_piped(cli: Cli, log: Path) -> None:
    done = cli("tail", log.name)
    assert done.code == 0
    assert len(done.out.splitlines()) == 20
    assert done.out.splitlines()[-1].endswith("+ items  id=30  name=item 30")


def test_tail_finds_one_row_when_a_key_is_given(cli: Cli, log: Path) -> None:
    assert cli("tail", log.name, "--key", "7").out.count("\n") == 1
    assert cli("tail", log.name, "--key", "id=7", "--diff").out.startswith("+ items  id=7")
    assert not cli("tail", log.name, "--table", "other*").out


def test_tail_is_one_envelope_when_asked_for_json(cli: Cli, log: Path) -> None:
    result = cli("tail", log.name, "--from", "earliest", "--limit", "2", "--json").json()["result"]
    assert [change["sequence"] for change in result["changes"]] == [1, 2]
    assert result["changes"][0]["after"] == {"id": 1, "name": "item 1"}
    endless = cli("tail", log.name, "--follow", "--json")
    assert endless.code == 2
    assert "--limit" in endless.json()["error"]["message"]


def test_version_names_the_parts_when_asked(cli: Cli) -> None:
    parts = cli("version", "--json").json()["result"]["parts"]
    assert parts["sources"] == ["postgresql", "sqlite"]
    assert parts["sinks"] == ["file", "stdout"]
    assert "headwater-json" in parts["formats"]


def test_doctor_is_content_when_nothing_is_wrong(cli: Cli) -> None:
    envelope = cli("doctor", "--json").json()
    checks = {finding["check"]: finding for finding in envelope["result"]["findings"]}
    assert checks["Python"]["severity"] == "ok"
    assert all(finding["fix"] for finding in checks.values() if finding["severity"] == "error")


def test_doctor_finds_no_java_when_the_pipeline_needs_it(cli: Cli, shop: Path) -> None:
    cli("init", "shop.yaml", "--from", shop.name)
    done = cli("doctor", "shop.yaml", JAVA_HOME="/nonexistent", PATH="/nonexistent")
    assert done.code == 3
    assert "spark-java" in done.out
    assert "install Java 17" in done.out


def test_doctor_names_the_next_command_when_capture_is_not_installed(cli: Cli, shop: Path) -> None:
    cli("init", "shop.yaml", "--from", shop.name)
    done = cli("doctor", "shop.yaml")
    assert "sqlite-not-installed" in done.out
    assert "headwater setup sqlite" in done.out


def test_output_is_ascii_when_the_terminal_is_not_unicode(cli: Cli) -> None:
    done = cli("explain", "nope-nope", PYTHONIOENCODING="ascii")
    assert done.err.isascii()
    assert "-> " in done.err


def _schema(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
