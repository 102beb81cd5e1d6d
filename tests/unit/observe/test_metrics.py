from __future__ import annotations

import re
from pathlib import Path

import pytest

import headwater
from headwater.observe import CATALOGUE, PrometheusMetrics
from headwater.secret import Secret


def test_metrics_render_as_prometheus_text_when_counted() -> None:
    metrics = PrometheusMetrics()
    metrics.count("headwater_capture_events_total", 3, source="shop", phase="stream")
    metrics.count("headwater_capture_events_total", 2, source="shop", phase="stream")
    metrics.gauge("headwater_log_head", 17, source="shop")
    metrics.observe("headwater_capture_append_seconds", 0.01, source="shop")
    text = metrics.render()
    assert 'headwater_capture_events_total{phase="stream",source="shop"} 5.0' in text
    assert 'headwater_log_head{source="shop"} 17.0' in text
    assert 'headwater_capture_append_seconds_count{source="shop"} 1.0' in text
    assert "# HELP headwater_log_head Last visible sequence number." in text


def test_metrics_refuse_when_a_name_or_label_is_not_in_the_catalogue() -> None:
    metrics = PrometheusMetrics()
    with pytest.raises(KeyError):
        metrics.count("headwater_made_up_total")
    with pytest.raises(ValueError, match="abel"):
        metrics.gauge("headwater_log_head", 1, source="shop", row_value="x")


def test_metrics_hold_no_secret_when_a_label_carries_one() -> None:
    """INV-12."""
    secret = Secret("hunter2")
    metrics = PrometheusMetrics()
    metrics.gauge("headwater_log_head", 1, source=f"pg://{secret.reveal()}")
    assert "hunter2" not in metrics.render()


def test_metrics_are_apart_when_there_are_two_registries() -> None:
    first, second = PrometheusMetrics(), PrometheusMetrics()
    first.gauge("headwater_log_head", 1, source="a")
    assert 'source="a"' not in second.render()


def test_catalogue_lists_every_metric_when_the_engines_name_it() -> None:
    root = Path(headwater.__file__).parent
    named = {
        name
        for room in ("runtime", "deliver", "app", "server")
        for path in (root / room).rglob("*.py")
        for name in re.findall(r'"(headwater_[a-z_]+)"', path.read_text())
    }
    assert named == CATALOGUE.keys()
