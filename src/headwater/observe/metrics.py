"""Metrics as Prometheus text, from a registry of our own."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest

from headwater.observe.catalogue import CATALOGUE, Metric
from headwater.observe.redact import Redactor

_Collector = Counter | Gauge | Histogram | Summary
_KINDS: dict[str, type[_Collector]] = {
    "counter": Counter,
    "gauge": Gauge,
    "histogram": Histogram,
    "summary": Summary,
}


class PrometheusMetrics:
    """Implements contract.Metrics. Only names and labels of the catalogue exist.

    An unlisted name or label is a mistake in the calling code and raises KeyError or ValueError.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._redactor = Redactor()
        self._collectors = {name: self._collector(metric) for name, metric in CATALOGUE.items()}
        self._children: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}

    def _collector(self, metric: Metric) -> _Collector:
        return _KINDS[metric.kind](
            metric.name, metric.help, labelnames=metric.labels, registry=self.registry
        )

    def _child(self, name: str, labels: dict[str, str]) -> Any:
        key = (name, tuple(sorted(labels.items())))
        child = self._children.get(key)
        if child is None:
            collector = self._collectors[name]
            # INV-12: cleaned once, when the series is born, not on every increment.
            clean = {label: self._redactor.text(value) for label, value in labels.items()}
            child = collector.labels(**clean) if CATALOGUE[name].labels else collector
            self._children[key] = child
        return child

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._child(name, labels).inc(amount)

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        self._child(name, labels).set(value)

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add one observation to a histogram or a summary."""
        self._child(name, labels).observe(value)

    def render(self) -> str:
        """The text that a Prometheus server scrapes."""
        return generate_latest(self.registry).decode()


class NoMetrics:
    """Implements contract.Metrics by doing nothing."""

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Nothing."""

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Nothing."""

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Nothing."""
