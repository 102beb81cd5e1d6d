"""The installed command as a user runs it, and a shop on PostgreSQL to run it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fix_postgres import PASSWORDS, PostgresDatabase

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
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one envelope on standard output, and nothing else."""
        envelope: dict[str, Any] = json.loads(self.out)
        assert list(envelope) == ["command", "ok", "summary", "result", "error"]
        return envelope


class Cli:
    """Runs commands in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *words: str | Path, timeout_s: float = 60, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "headwater", *map(str, words)],
            cwd=self.directory,
            env=os.environ | {"COLUMNS": "80"} | environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "\x1b" not in done.stdout + done.stderr, "escape codes in a pipe"
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands run in an empty directory."""
    return Cli(tmp_path)


@contextmanager
def running(cli: Cli, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater", "run", "shop.yaml", *words],
        cwd=cli.directory,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def eventually(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.1)


@dataclass(frozen=True)
class Shop:
    """Commands about one database; no password may appear in anything they print."""

    cli: Cli
    database: PostgresDatabase
    patience_s: float = 60

    def __call__(self, *words: str | Path, **environment: str) -> Done:
        given = {"DATABASE_URL": self.database.dsn()} | environment
        done = self.cli(*words, timeout_s=self.patience_s, **given)
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
