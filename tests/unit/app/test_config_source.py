"""The source section: which settings fit which database, and passwords stay out of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.config import Config, InvalidConfigError, Problem, dotted, parse_config
from headwater.app.options import source_options
from headwater.app.postgres_settings import postgres_config
from headwater.app.source_options import server_name
from headwater.source.postgres.config import Transport

URL = "postgresql://capture:CANARY-77@db/shop"


def read(source: str, environment: dict[str, str] | None = None, name: str = "shop") -> Config:
    text = f"version: 1\nname: {name}\nlog:\n  path: shop.hwlog\nsource:\n{source}"
    return parse_config(text, Path("/etc/shop.yaml"), environment or {"DATABASE_URL": URL})


def problems_of(source: str, environment: dict[str, str] | None = None) -> dict[str, Problem]:
    with pytest.raises(InvalidConfigError) as caught:
        read(source, environment)
    return {dotted(problem.path): problem for problem in caught.value.problems}


def test_source_reaches_the_driver_with_its_settings_when_it_is_postgresql() -> None:
    config = read(
        "  url: ${DATABASE_URL}\n  tables: [orders]\n  exclude_columns: [orders.note]\n"
        "  snapshot: never\n  on_gap: accept\n  create: false\n  failover: false\n"
        "  streaming: false\n  transport: sql\n  snapshot_workers: 4\n  chunk_rows: 500\n"
        "  heartbeat_interval: 3s\n  status_interval: 1500ms\n  columns: ['orders.*']\n"
        "  messages: [outbox, 'audit.*']\n"
    )
    settings = postgres_config(config.source.url, source_options(config))
    assert settings.dsn.reveal() == URL
    assert (settings.slot, settings.publication) == ("headwater_shop", "headwater_shop")
    assert (settings.tables, settings.columns) == (("orders",), ("orders.*",))
    assert settings.exclude_columns == ("orders.note",)
    assert settings.messages == ("outbox", "audit.*")
    flags = (settings.snapshot, settings.create, settings.failover, settings.streaming)
    assert not any(flags)
    assert settings.on_gap.value == "accept"
    assert (settings.snapshot_workers, settings.chunk_rows) == (4, 500)
    assert settings.transport is Transport.SQL
    assert (settings.heartbeat_interval_s, settings.status_interval_s) == (3.0, 1.5)


def test_slot_has_the_database_s_name_when_the_pipeline_has_none() -> None:
    text = "version: 1\nlog: {path: a.hwlog}\nsource: {url: 'postgresql://app@db/shop'}\n"
    config = parse_config(text, Path("/etc/a.yaml"), {})
    assert postgres_config(config.source.url, source_options(config)).slot == "headwater_shop"


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        ("shop", "headwater_shop"),
        ("Shop-EU.2", "headwater_shop_eu_2"),
        ("...", "headwater_default"),
        ("x" * 64, "headwater_" + "x" * 53),
    ],
)
def test_server_name_is_one_that_postgresql_takes(pipeline: str, name: str) -> None:
    assert server_name(pipeline) == name


@pytest.mark.parametrize(
    "setting", ["slot: a", "create: true", "chunk_rows: 20000", "messages: [a]"]
)
def test_setting_is_refused_at_its_line_when_it_is_not_for_sqlite(setting: str) -> None:
    name = setting.partition(":")[0]
    found = problems_of(f"  url: sqlite:///shop.db\n  {setting}\n")
    assert list(found) == [f"source.{name}"]
    assert found[f"source.{name}"].line == 7
    assert "PostgreSQL" in found[f"source.{name}"].reason
    assert f"remove {name}" in found[f"source.{name}"].suggestion


def test_setting_is_refused_at_its_line_when_it_is_not_for_postgresql() -> None:
    found = problems_of("  poll_interval: 50ms\n  url: ${DATABASE_URL}\n")
    assert found["source.poll_interval"].line == 6
    assert "SQLite" in found["source.poll_interval"].reason


def test_password_is_refused_when_it_is_written_into_the_file() -> None:
    found = problems_of(f"  url: {URL}\n")
    assert "${DATABASE_URL}" in found["source.url"].reason
    assert "CANARY" not in found["source.url"].reason + found["source.url"].suggestion


def test_password_may_come_alone_when_the_rest_stands_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("p@ss/w%rd:1\n")
    source = (
        "  host: db.example.org\n  port: 6432\n  user: capture\n  database: shop\n"
        f"  password: ${{file:{tmp_path}/pw}}\n  sslmode: verify-full\n  sslrootcert: ca.pem\n"
    )
    config = read(source)
    assert config.source.url.full.reveal() == (
        "postgresql://capture:p%40ss%2Fw%25rd%3A1@db.example.org:6432/shop"
        "?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    )
    assert "p@ss" not in f"{config} {config.model_dump_json()}"
    assert "p%40ss" not in f"{config} {config.model_dump_json()}"


def test_host_may_be_a_directory_when_the_server_is_on_this_machine() -> None:
    config = read("  host: /run/postgresql\n  database: shop\n")
    assert config.source.url.full.reveal() == "postgresql:///shop?host=%2Frun%2Fpostgresql"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("  tables: [a]\n", "name the database"),
        ("  host: db\n", "database is needed"),
        ("  url: ${DATABASE_URL}\n  host: db\n", "named twice"),
        ("  url: ${DATABASE_URL}\n  sslmode: require\n", "named twice"),
    ],
)
def test_source_is_refused_when_its_address_is_missing_or_doubled(source: str, reason: str) -> None:
    assert reason in problems_of(source)["source.url"].reason


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("slot: Shop", "slot"),
        ("publication: a-b", "publication"),
        ("snapshot_workers: 0", "snapshot_workers"),
        ("chunk_rows: 1", "chunk_rows"),
        ("messages: [headwater.context]", "messages"),
        ("status_interval: 0s", "status_interval"),
        ("sslmode: verify_full", "sslmode"),
    ],
)
def test_setting_is_refused_when_its_value_cannot_be(setting: str, name: str) -> None:
    source = "  host: db\n  database: shop\n" if name == "sslmode" else "  url: ${DATABASE_URL}\n"
    assert f"source.{name}" in problems_of(f"{source}  {setting}\n")
