"""What the outside sees: time, metrics and logs.

- `SystemClock` (clock.py) implements contract.Clock.
- `PrometheusMetrics`, `NoMetrics` (metrics.py) over the fixed catalogue (catalogue.py).
- `configure_logs` (logs.py): JSON lines for machines, readable lines on a terminal.
- `Redactor` (redact.py): no secret leaves through any of them (INV-12).

Engines log through the standard library's `logging` under the name `headwater`, so that a program
which embeds them keeps its own set-up; `configure_logs` is for our own doors.
May import: contract, errors, secret.
"""

from headwater.observe.catalogue import CATALOGUE, Metric
from headwater.observe.clock import SystemClock
from headwater.observe.logs import configure_logs
from headwater.observe.metrics import NoMetrics, PrometheusMetrics
from headwater.observe.redact import Redactor

__all__ = [
    "CATALOGUE",
    "Metric",
    "NoMetrics",
    "PrometheusMetrics",
    "Redactor",
    "SystemClock",
    "configure_logs",
]
