"""`headwater.capture` on a real PostgreSQL server."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater
from headwater.errors import ConfigError
from tests.fix_postgres import PASSWORDS, PostgresDatabase


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql(
        "CREATE TABLE customers (id int PRIMARY KEY, name text);"
        "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace')"
    )
    return postgres_database


def publish(shop: PostgresDatabase, name: str) -> None:
    """What `headwater setup postgres` does as the owner."""
    shop.sql(
        f"CREATE PUBLICATION {name} FOR TABLE ONLY customers WITH (publish_via_partition_root)"
    )


def captured(shop: PostgresDatabase, log: Path, slot: str | None = None) -> list[str]:
    options = headwater.CaptureOptions(slot=slot)
    found = []
    with headwater.capture(shop.dsn(), log=log, until="head", options=options) as changes:
        for batch in changes:
            found += [f"{event.op.label} {event.after}" for event in batch]
            batch.ack()
    return found


def test_capture_gives_rows_then_changes_when_repeated(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    publish(shop, f"headwater_{shop.name}")
    log = tmp_path / "shop.hwlog"
    assert captured(shop, log) == [
        "read {'id': 1, 'name': 'Ada'}",
        "read {'id': 2, 'name': 'Grace'}",
    ]
    shop.sql("UPDATE customers SET name = 'Ada L.' WHERE id = 1")
    assert captured(shop, log) == ["update {'id': 1, 'name': 'Ada L.'}"]
    assert captured(shop, log) == []


def test_two_logs_capture_one_database_when_each_has_its_slot(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        publish(shop, f"{shop.name}_{name}")
        assert len(captured(shop, tmp_path / f"{name}.hwlog", f"{shop.name}_{name}")) == 2
    shop.sql("DELETE FROM customers WHERE id = 2")
    for name in ("one", "two"):
        again = captured(shop, tmp_path / f"{name}.hwlog", f"{shop.name}_{name}")
        assert again == ["delete None"]


def test_second_log_is_refused_when_it_would_take_the_first_one_s_slot(
    shop: PostgresDatabase, tmp_path: Path
) -> None:
    publish(shop, f"headwater_{shop.name}")
    captured(shop, tmp_path / "one.hwlog")
    with pytest.raises(ConfigError) as caught:
        captured(shop, tmp_path / "two.hwlog")
    assert caught.value.code == "postgres-slot-exists"
    assert PASSWORDS["capture"] not in str(caught.value)


def test_capture_needs_a_log_when_the_source_is_a_server(shop: PostgresDatabase) -> None:
    with pytest.raises(ConfigError, match="no log was named"):
        headwater.capture(shop.dsn())


def test_capture_refuses_a_slot_when_the_source_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="slot"):
        headwater.capture(tmp_path / "shop.db", options=headwater.CaptureOptions(slot="a"))
