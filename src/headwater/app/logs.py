"""What people do with a log file: look, check, trim, set a consumer back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from headwater.app.registry import open_log


def log_info(path: Path) -> dict[str, Any]:
    """The log's facts as plain values."""
    info = open_log(path).info()
    facts = asdict(info)
    facts["tail"], facts["head"] = info.bounds.tail, info.bounds.head
    facts["events"] = info.bounds.head - info.bounds.tail + 1
    del facts["bounds"]
    return facts


def check_log(path: Path) -> list[dict[str, Any]]:
    """Every damaged range; empty means sound."""
    return [asdict(damage) for damage in open_log(path).check()]


def retain_log(path: Path, *, max_age_ms: int | None, max_bytes: int | None) -> dict[str, Any]:
    """Remove what is old or too much, as far as required consumers allow."""
    from headwater.log import RetentionPolicy

    return asdict(open_log(path).retain(RetentionPolicy(max_age_ms, max_bytes)))


def rewind_cursor(path: Path, name: str, sequence: int) -> None:
    """Set a consumer back: it reads everything after `sequence` again."""
    open_log(path).rewind(name, sequence)
