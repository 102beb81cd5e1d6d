"""Sinks of CDC Format 1.0 on real databases: entities, context, cascades, large transactions."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from headwater.app.config import parse_config
from headwater.app.pipeline import Pipeline
from headwater.errors import ConfigError
from headwater.format.cdcformat.schema import json_schema
from tests.fix_postgres import PostgresDatabase

Tree = dict[str, Any]
VALIDATOR = Draft202012Validator(json_schema())
TABLES = """
CREATE TABLE organization (id bigint PRIMARY KEY, member_count int NOT NULL);
CREATE TABLE tb_user (
  id bigint PRIMARY KEY, email text, org_id bigint REFERENCES organization, deleted_at timestamptz
);
CREATE TABLE post (
  id bigint PRIMARY KEY, user_id bigint REFERENCES tb_user ON DELETE CASCADE, title text
);
"""
CONFIG = """\
version: 1
name: NAME
source:
  url: ${DATABASE_URL}
log:
  path: shop.hwlog
cdc:
  schema_name: acme-api
  region: eu
  granularity: GRANULARITY
  cascade_memory: 1MiB
  tables:
    - {table: tb_user, identifier: email, tenant: org_id, invalidates: [users]}
    - {table: post, invalidates: [posts]}
sinks:
  - {name: feed, type: file, path: feed.jsonl, format: cdc-format}
"""


def run(directory: Path, url: str, name: str, granularity: str = "row", more: str = "") -> None:
    text = CONFIG.replace("NAME", name).replace("GRANULARITY", granularity) + more
    config = parse_config(text, directory / "shop.yaml", {"DATABASE_URL": url})
    Pipeline(config).run(once=True)


def written(directory: Path) -> list[Tree]:
    lines = (directory / "feed.jsonl").read_text().splitlines()
    trees = [json.loads(line) for line in lines]
    for tree in trees:
        VALIDATOR.validate(tree)
    return trees


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    shop = postgres_database
    shop.sql(TABLES)
    for name in ("organization", "tb_user", "post"):
        shop.sql(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
    shop.sql(
        f"CREATE PUBLICATION headwater_{shop.name} FOR TABLE ONLY organization, tb_user, post"
        " WITH (publish_via_partition_root)"
    )
    return shop


def test_mutation_is_one_event_when_postgres_deletes_in_cascade(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    shop.sql(
        "INSERT INTO organization VALUES (8, 1); INSERT INTO tb_user VALUES (5, 'a@x', 8);"
        "INSERT INTO post VALUES (1, 5, 'one'), (2, 5, 'two')"
    )
    run(tmp_path, shop.dsn(), shop.name, "atomic")
    before = len(written(tmp_path))
    assert before == 4
    shop.sql(
        "BEGIN; SELECT pg_logical_emit_message(true, 'headwater.context',"
        ' \'{"user_id": 7, "request_id": "req_1", "trigger": "api_delete", "step": 2}\');'
        "DELETE FROM tb_user WHERE id = 5; UPDATE organization SET member_count = 0; COMMIT"
    )
    run(tmp_path, shop.dsn(), shop.name, "atomic")
    (tree,) = written(tmp_path)[before:]
    assert tree["entity"] == {
        "entity_type": "User", "entity_id": "5", "entity_identifier": "a@x", "tenant_id": "8",
        "is_soft_deleted": False,
    }  # fmt: skip
    assert (tree["event_type"], tree["operation"]["trigger"]) == ("entity:deleted", "api_delete")
    assert {n: v for n, v in tree["metadata"].items() if n != "custom_fields"} == {
        "user_id": "7", "request_id": "req_1",
    }  # fmt: skip
    assert tree["metadata"]["custom_fields"]["step"] == 2
    deleted = [(each["entity_type"], each["entity_id"]) for each in tree["cascade"]["deleted"]]
    assert sorted(deleted) == [("Post", "1"), ("Post", "2")]
    (counted,) = tree["cascade"]["updated"]
    assert (counted["entity_type"], counted["changes"]) == ("Organization", ["member_count"])
    assert tree["cascade"]["invalidations"] == [
        {"query": "users", "reason": "entity_deleted"},
        {"query": "posts", "reason": "parent_deleted"},
    ]
    assert (tree["schema_name"], tree["source"]["region"]) == ("acme-api", "eu")


def test_transaction_is_folded_when_it_is_larger_than_a_delivery(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    run(tmp_path, shop.dsn(), shop.name, "atomic")
    shop.sql(
        "BEGIN; INSERT INTO tb_user VALUES (1, 'u');"
        "INSERT INTO post SELECT n, 1, 't' FROM generate_series(1, 13000) n;"
        "INSERT INTO organization VALUES (1, 1); COMMIT"
    )
    run(tmp_path, shop.dsn(), shop.name, "atomic")
    folded, stranger = written(tmp_path)
    assert len(folded["cascade"]["updated"]) == 13_000
    assert {each["reason"] for each in folded["cascade"]["updated"]} == {"child_added"}
    assert stranger["entity"]["entity_type"] == "Organization"


def test_file_is_the_same_when_the_same_log_is_delivered_in_other_pieces(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    """A restart reads from a border on; what an event says must not depend on where that is."""
    run(tmp_path, shop.dsn(), shop.name)
    shop.sql(
        "BEGIN; INSERT INTO tb_user VALUES (1, 'u'); INSERT INTO post SELECT n, 1, 't'"
        " FROM generate_series(1, 6000) n; COMMIT"
    )
    more = "  - {name: later, type: file, path: later.jsonl, format: cdc-format}\n"
    run(tmp_path, shop.dsn(), shop.name)
    shop.sql("INSERT INTO post VALUES (9000, 1, 't'); DELETE FROM tb_user WHERE id = 1")
    run(tmp_path, shop.dsn(), shop.name, more=more)
    assert (tmp_path / "feed.jsonl").read_text() == (tmp_path / "later.jsonl").read_text()


# Users stand before and after their 30,000 posts, of which some change once more.
BULK = """
BEGIN; INSERT INTO tb_user (id, email) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO post SELECT i, 1 + i % 10, 't' FROM n;
UPDATE post SET title = 'u' WHERE id <= 2000;
INSERT INTO tb_user (id, email) VALUES (6, 'f'), (7, 'g'), (8, 'h'), (9, 'i'), (10, 'j'); COMMIT;
"""


@pytest.mark.parametrize(
    ("granularity", "events", "kills"),
    [
        ("row", 32_010, ("scratch.after_flush=kill@3", "delivery.after_write=kill@4")),
        ("atomic", 10, ("delivery.after_write=kill@2", "sink.file.after_state=kill")),
    ],
)
def test_file_is_the_same_when_deliveries_are_killed(
    tmp_path: Path, granularity: str, events: int, kills: tuple[str, ...]
) -> None:
    """Families larger than a delivery, with kill -9 while they are found and told (INV-3)."""
    text = CONFIG.replace("NAME", "shop").replace("GRANULARITY", granularity)
    capture, _, sink = text.partition("sinks:")
    roomy = capture.replace("1MiB", "1GiB")
    (tmp_path / "capture.yaml").write_text(capture)
    (tmp_path / "feed.yaml").write_text(text)
    (tmp_path / "spared.yaml").write_text(f"{roomy}sinks:{sink.replace('feed', 'spared')}")
    with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as db:
        db.executescript(TABLES)
        assert headwater(tmp_path, "capture.yaml") == 0
        db.executescript(BULK)
        assert headwater(tmp_path, "capture.yaml") == 0
    for kill in kills:
        assert headwater(tmp_path, "feed.yaml", kill) == -signal.SIGKILL
    assert headwater(tmp_path, "feed.yaml") == headwater(tmp_path, "spared.yaml") == 0
    lines = (tmp_path / "feed.jsonl").read_bytes().splitlines()
    assert lines == (tmp_path / "spared.jsonl").read_bytes().splitlines()
    assert len(lines) == events
    users = [json.loads(line) for line in (*lines[:5], *lines[-5:])]
    for number, tree in enumerate(users, 1):
        assert tree["entity"]["entity_id"] == str(number)
        posts = tree["cascade"]["updated"]
        assert {int(each["entity_id"]) % 10 for each in posts} == {number - 1}
        assert len(posts) == 3_000
        reasons = [each["reason"] for each in posts]
        assert (reasons.count("child_added"), reasons.count("related_updated")) == (2_800, 200)


def headwater(directory: Path, file: str, failpoint: str = "") -> int:
    done = subprocess.run(
        [sys.executable, "-m", "headwater", "run", file, "--once"],
        cwd=directory,
        env={
            **os.environ, "HEADWATER_FAILPOINT": failpoint, "DATABASE_URL": "sqlite:///shop.db",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode


def test_rows_say_who_acted_and_what_followed_when_the_source_is_sqlite(tmp_path: Path) -> None:
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript(TABLES)
        run(tmp_path, f"sqlite:///{database}", "shop")
        db.execute("PRAGMA foreign_keys = ON")
        db.executescript(
            """BEGIN; INSERT INTO _headwater_context (context)
            VALUES ('{"user_id": "u1", "trigger": "api_create"}');
            INSERT INTO tb_user VALUES (5, 'a@x', NULL, NULL); INSERT INTO post VALUES (1, 5, 't');
            INSERT INTO _headwater_context (context) VALUES (NULL); COMMIT"""
        )
    run(tmp_path, f"sqlite:///{database}", "shop")
    user, post = written(tmp_path)
    assert [each["operation"]["trigger"] for each in (user, post)] == ["api_create"] * 2
    assert user["metadata"]["user_id"] == "u1"
    (entry,) = user["cascade"]["updated"]
    assert (entry["entity_type"], entry["reason"]) == ("Post", "child_added")
    assert post["cascade"]["updated"] == []


def test_events_are_chosen_by_entity_and_operation_when_a_compiled_schema_says_so(
    tmp_path: Path,
) -> None:
    cdc = {"enabled": True, "entities": ["User", "Post"], "exclude_operations": ["CREATE"]}
    (tmp_path / "compiled.json").write_text(json.dumps({"cdc": cdc}))
    text = CONFIG.replace("cdc:\n", "cdc:\n  schema_file: compiled.json\n")
    text = text.replace("NAME", "shop").replace("GRANULARITY", "row")
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript(TABLES)
        db.executescript(
            "INSERT INTO organization VALUES (8, 1); INSERT INTO post VALUES (1, 5, 't')"
        )
        environment = {"DATABASE_URL": f"sqlite:///{database}"}
        config = parse_config(text, tmp_path / "shop.yaml", environment)
        Pipeline(config).run(once=True)
        db.executescript("UPDATE organization SET member_count = 2; UPDATE post SET title = 'b'")
    Pipeline(config).run(once=True)
    (tree,) = written(tmp_path)
    assert (tree["entity"]["entity_type"], tree["operation"]["type"]) == ("Post", "UPDATE")


def test_pipeline_does_not_start_when_an_entity_is_unknown(tmp_path: Path) -> None:
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as db:
        db.executescript(TABLES)
    text = CONFIG.replace("cdc:\n", "cdc:\n  entities: [Usr]\n").replace("GRANULARITY", "row")
    config = parse_config(
        text.replace("NAME", "shop"), tmp_path / "shop.yaml", {"DATABASE_URL": str(database)}
    )
    with pytest.raises(ConfigError, match="did you mean User") as caught:
        Pipeline(config).run(once=True)
    assert caught.value.code == "entity-unknown"
    assert not (tmp_path / "feed.jsonl").exists()
