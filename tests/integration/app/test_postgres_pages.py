"""What the pages show about PostgreSQL is what happens: their blocks are run on a real server.

The blocks are those whose note says that they need one, and the YAML files beside them. `OWNER_URL`
is the owner of the tables, `DATABASE_URL` the capturing role. A sample `customers` and `orders` are
there, and publications with the names of the slots that the Python blocks use.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, blocks, pages
from tests.docs.running import SHELL, run_blocks
from tests.fix_postgres import PASSWORDS, PostgresDatabase

MARK = "needs a PostgreSQL server"


def server_blocks(path: Path) -> list[Block]:
    """The page's blocks for a server; the shell's variables are replaced, as a shell would."""
    found = [each for each in blocks(path) if MARK in (each.reason_not_to_run or "")]
    files = [each for each in blocks(path) if each.title and "DATABASE_URL" in each.text]
    expanded = [
        replace(each, text=os.path.expandvars(each.text)) if each.language in SHELL else each
        for each in found
    ]
    return [*files, *expanded] if found else []


PAGES = [path for path in pages() if any(MARK in block.note for block in blocks(path))]


def test_readme_and_guide_have_blocks_for_a_server() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in PAGES}
    assert names == {"README.md", "docs/guide/postgres.md"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_blocks_of_page_run_on_a_real_server(
    path: Path,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = postgres_database
    database.sql(
        "CREATE TABLE customers (id int PRIMARY KEY, name text);"
        "CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers);"
        "INSERT INTO customers VALUES (1, 'Ada'); INSERT INTO orders VALUES (10, 1)"
    )
    slots = [f"headwater_{database.name}", *re.findall(r'slot="(\w+)"', path.read_text())]
    for name in slots:
        database.sql(
            f"CREATE PUBLICATION {name} FOR TABLE ONLY customers, ONLY orders"
            " WITH (publish_via_partition_root)"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database.dsn())
    monkeypatch.setenv("OWNER_URL", database.dsn("app"))
    chosen = server_blocks(path)
    assert {block.language for block in chosen} == {"bash", "python", "yaml"}
    run_blocks(chosen, tmp_path)
    printed = capsys.readouterr().out
    assert "read customers {'id': 1} {'id': 1, 'name': 'Ada'}" in printed
    assert PASSWORDS["capture"] not in printed
    assert len((tmp_path / "changes.jsonl").read_text().splitlines()) == 2
