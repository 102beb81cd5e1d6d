"""Metrics of a pipeline: how far consumers are behind at the moment of asking."""

from __future__ import annotations

import re
from pathlib import Path

from headwater.app.config import parse_config
from headwater.app.pipeline import Pipeline
from headwater.log import SqliteLog
from tests.shop import open_shop

CONFIG = """
version: 1
name: shop
source: {url: "sqlite:///shop.db"}
log: {path: shop.hwlog}
sinks: [{name: audit, type: file, path: changes.jsonl}]
"""


def _lags(pipeline: Pipeline, consumer: str) -> dict[str, float]:
    found = re.findall(
        rf'headwater_cursor_lag_(\w+)\{{consumer="{consumer}"\}} (\S+)', pipeline.metrics_text()
    )
    return {unit: float(value) for unit, value in found}


def test_lag_is_measured_for_each_scrape_and_ends_with_its_cursor(tmp_path: Path) -> None:
    shop = open_shop(tmp_path)
    pipeline = Pipeline(parse_config(CONFIG, tmp_path / "shop.yaml", {}))
    assert _lags(pipeline, "audit") == {}, "there is no log yet, and that is no error"
    pipeline.run(once=True)
    assert _lags(pipeline, "audit") == {"events": 0.0, "bytes": 0.0, "seconds": 0.0}

    shop.run("DELETE FROM orders")
    shop.drain()
    waiting = _lags(pipeline, "audit")
    assert waiting["events"] == 3
    assert waiting["bytes"] > 0

    SqliteLog(tmp_path / "shop.hwlog").cursor("spark:orders@mirror", required=True).close()
    assert _lags(pipeline, "spark:orders@mirror")["events"] > 3
    SqliteLog(tmp_path / "shop.hwlog").remove_cursor("spark:orders@mirror")
    gone = _lags(pipeline, "spark:orders@mirror")
    assert gone == {"events": 0.0, "bytes": 0.0, "seconds": 0.0}
