"""Structured logs: JSON lines for machines, readable lines on a terminal, no secrets in either."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from headwater.observe.redact import Redactor

ROOT = "headwater"


def configure_logs(
    *, level: str = "info", stream: TextIO | None = None, json_lines: bool | None = None
) -> logging.Handler:
    """Send everything under the `headwater` logger to `stream` (standard error).

    `json_lines` None decides by the stream: a terminal gets readable lines. Returns the handler, so
    that a caller can take it away again. Calling it twice replaces the first one.
    """
    target = stream or sys.stderr
    as_json = not target.isatty() if json_lines is None else json_lines
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_facts(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(as_json=as_json),
            ],
        )
    )
    root = logging.getLogger(ROOT)
    for old in [each for each in root.handlers if getattr(each, "headwater", False)]:
        root.removeHandler(old)
    handler.headwater = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False
    return handler


def _facts() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _rendering(*, as_json: bool) -> list[Processor]:
    """Redaction comes after the traceback became text and before anything is rendered (INV-12)."""
    last: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(colors="NO_COLOR" not in os.environ)
    )
    return [structlog.processors.format_exc_info, _redact, last]


def _redact(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    clean: MutableMapping[str, Any] = Redactor().value(dict(event))
    return clean
