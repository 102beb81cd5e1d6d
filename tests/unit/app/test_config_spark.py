"""Modes of keeping tables: what is taken, and what is refused before a session is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.app.config import (
    InvalidConfigError,
    Problem,
    SparkSettings,
    dotted,
    parse_config,
)
from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.spark.modes import Modes

FILE = "version: 1\nsource: {url: sqlite:///shop.db}\nlog: {path: shop.hwlog}\n"
ORDERS, NOTES = TableId("sales", "orders"), TableId("sales", "notes")


def settings(section: str) -> SparkSettings:
    found = parse_config(f"{FILE}spark: {{target: t, {section}}}\n", environment={}).spark
    assert found is not None
    return found


def problems(section: str) -> dict[str, Problem]:
    with pytest.raises(InvalidConfigError) as caught:
        settings(section)
    return {dotted(each.path): each for each in caught.value.problems}


def test_table_is_kept_in_every_mode_when_several_name_it() -> None:
    chosen = settings("mode: append_log, modes: {scd2: [ord*], mirror: [sales.orders]}")
    modes = Modes(chosen.mode, chosen.modes.by_mode())
    assert modes.of(ORDERS) == ("mirror", "scd2")
    assert modes.of(NOTES) == ("append_log",)
    assert Modes().of(NOTES) == ("mirror",)


@pytest.mark.parametrize(
    ("section", "where", "said"),
    [
        ("modes: {scd_2: [orders]}", "spark.modes.scd_2", "did you mean scd2?"),
        ("modes: {scd2: orders}", "spark.modes.scd2", "list"),
        ("mode: scd1", "spark.mode", "scd2"),
        ("table_format: parquet, mode: scd2", "spark", "table_format: delta"),
        ("table_format: parquet, modes: {scd2: [orders]}", "spark", "table_format: delta"),
    ],
)
def test_mode_is_refused_when_it_cannot_be_kept(section: str, where: str, said: str) -> None:
    problem = problems(section)[where]
    assert said in f"{problem.reason} {problem.suggestion}"


def test_iceberg_tables_have_modes_and_no_catalog_that_a_file_could_name() -> None:
    assert settings("table_format: iceberg, mode: scd2").table_format == "iceberg"
    section = f"{FILE}spark: {{target: 'catalog:ice.shop', table_format: iceberg}}\n"
    with pytest.raises(InvalidConfigError, match="session of your own"):
        parse_config(section, environment={})


def test_snapshots_may_be_rarer_or_never_but_not_after_no_batch() -> None:
    assert settings("table_format: parquet").snapshots.every == 50
    assert settings("snapshots: {every: null}").snapshots.every is None
    assert settings("snapshots: {every: 3, keep_changes: false}").snapshots.every == 3
    assert "spark.snapshots.every" in problems("snapshots: {every: 0}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mode": "scd3"}, "no mode 'scd3'"),
        ({"modes": {"histroy": ["orders"]}}, "no mode 'histroy'"),
        ({"modes": {"scd2": "orders"}}, "one string"),
        ({"table_format": "parquet", "mode": "scd2"}, "only append"),
    ],
)
def test_job_is_refused_when_a_mode_cannot_be_kept(given: dict[str, Any], said: str) -> None:
    job = pytest.importorskip("headwater.app.spark").TableJob
    with pytest.raises(ConfigError, match=said) as caught:
        job(Path("shop.hwlog"), "lake", **given)
    assert caught.value.code == "spark-mode"
