"""A fixture file against its golden file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headwater.errors import ConfigError, MachineError
from headwater.files import replacing
from headwater.testing.replay.fixture import load_fixture
from headwater.testing.replay.golden import differences, envelopes
from headwater.testing.replay.machine import replay


def golden_path(fixture: Path) -> Path:
    """Where it lies by default: `x.golden.json` beside `x.fixture.json`."""
    stem = fixture.name.removesuffix(".json").removesuffix(".fixture")
    return fixture.with_name(f"{stem}.golden.json")


def prove(fixture: Path, golden: Path | None = None, *, update: bool = False) -> dict[str, Any]:
    """Replay a fixture and compare; with `update` the golden file is written instead.

    Without a golden file there is nothing to compare, unless one was named: then that is an error.
    """
    recording = load_fixture(fixture)
    told = replay(recording)
    events = envelopes(told.events)
    goal = golden or golden_path(fixture)
    if update:
        _write(goal, events)
    there = golden is not None or goal.exists()
    found = differences(_read(goal), events) if there else ()
    return {
        "id": recording.id,
        "fixture": str(fixture),
        "golden": str(goal) if there else None,
        "updated": update,
        "unfinished": told.unfinished,
        "events": events,
        "differences": [asdict(each) for each in found],
    }


def _read(path: Path) -> list[Any]:
    try:
        events = json.loads(path.read_bytes())
    except OSError as exc:
        raise MachineError(
            "file-unreadable",
            str(exc.strerror),
            where=str(path),
            hint="write it with: headwater testkit replay FIXTURE --golden FILE --update",
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigError("golden-invalid", f"it is not JSON: {exc}", where=str(path)) from exc
    if type(events) is not list:
        raise ConfigError("golden-invalid", "it is no JSON list", where=str(path))
    return events


def _write(path: Path, events: list[dict[str, Any]]) -> None:
    text = json.dumps(events, indent=2, ensure_ascii=False)
    try:
        with replacing(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as exc:
        raise MachineError("file-unwritable", str(exc.strerror), where=str(path)) from exc
