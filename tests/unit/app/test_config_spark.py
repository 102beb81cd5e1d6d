"""Modes of keeping tables: what is taken, and what is refused before a session is started."""

from __future__ import annotations

from contextlib import nullcontext
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
from headwater.app.spark.loop import spark_loop
from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.observe import NoMetrics, SystemClock
from headwater.spark.modes import Modes
from headwater.spark.policy import SchemaPolicy

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
        ("schema: {policy: evolv}", "spark.schema.policy", "did you mean evolve?"),
        ("schema: {on_add: backfill}", "spark.schema.on_add", "on_add_column"),
        ("schma: {policy: halt}", "spark.schma", "did you mean schema?"),
        ("schema: {policy: halt, on_drop_column: drop}", "spark.schema", "drops no column"),
        ("table_format: parquet, schema: {policy: halt}", "spark", "leave schema out"),
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


def test_schema_policy_is_taken_as_it_is_written_and_follows_the_source_if_nothing_is() -> None:
    chosen = settings("schema: {policy: evolve, on_add_column: backfill, on_drop_column: drop}")
    assert chosen.columns.as_policy() == SchemaPolicy("evolve", "backfill", "drop")
    assert settings("mode: mirror").columns.as_policy() == SchemaPolicy()
    forgiving = settings("schema: {mistyped_as_null: [orders]}").columns.as_policy()
    assert (forgiving.forgives(ORDERS), forgiving.forgives(NOTES)) == (True, False)
    with pytest.raises(ConfigError, match="one string"):
        SchemaPolicy(mistyped_as_null="orders")


def test_backfill_of_new_columns_is_refused_when_the_source_reads_nothing_beside_its_stream() -> (
    None
):
    text = f"{FILE}spark: {{target: t, schema: {{on_add_column: backfill}}}}\n"
    config = parse_config(text, environment={})
    with pytest.raises(ConfigError) as caught:
        spark_loop(config, SystemClock(), NoMetrics(), nullcontext, once=True)  # type: ignore[arg-type]
    assert caught.value.code == "backfill-unsupported"
