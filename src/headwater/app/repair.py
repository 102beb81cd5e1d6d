"""Repairing a log: what is sound is kept, and the state of the rest comes from the source again.

The single changes inside a damaged range are gone; what they led to is not. So the source is asked
to start over: its tables are truncated and snapshotted in the log, behind the hole. Only then may
readers pass the hole.
"""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from headwater.app.config import Config, load_config
from headwater.app.options import source_options
from headwater.app.registry import open_log, open_source
from headwater.contract import SourceBatch, SourceCapabilities, SourceIdentity
from headwater.errors import ConfigError, TransientError
from headwater.event import Position
from headwater.log import SqliteLog
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime import CaptureLoop

_SNAPSHOT_TIMEOUT_S = 24 * 3600.0
_POLL_S = 0.1


def repair_log(path: Path, config_file: Path | None, *, dry_run: bool) -> dict[str, Any]:
    """Salvage, snapshot anew, let readers pass. With `dry_run`, only say what would be done."""
    log = open_log(path)
    damages = log.check()  # an earlier repair that did not finish left holes, which count
    known = {(hole.first_sequence, hole.last_sequence) for hole in log.info().holes}
    fresh = [each for each in damages if (each.first_sequence, each.last_sequence) not in known]
    found = [asdict(each) for each in damages]
    if not found:
        return {"summary": "the log is sound; nothing to repair", "damages": [], "steps": []}
    if config_file is None:
        raise ConfigError(
            "config-missing",
            f"{len(found)} damaged ranges; only the source can restore what was in them",
            where=str(path),
            hint=f"headwater log repair {shlex.quote(str(path))} --config FILE",
        )
    config = _config_of(path, config_file)
    steps = [
        f"copy everything sound into a new file; the damaged one stays as {path.name}.damaged",
        f"read the tables of {config.source.url} again into the log",
        "let readers pass the damaged ranges",
    ]
    if dry_run:
        return {"summary": "nothing was done", "damages": found, "steps": steps}
    if fresh:
        log.salvage()
    head = _start_over(config, log)
    log.close_holes(head)
    summary = f"repaired: {len(found)} ranges restored by a snapshot that ends at event {head:,}"
    return {"summary": summary, "damages": found, "steps": steps}


def _config_of(path: Path, file: Path) -> Config:
    config = load_config(file)
    if config.log.path.resolve() != path.resolve():
        raise ConfigError(
            "log-other-source",
            f"{file} is a pipeline with another log, {config.log.path}",
            where=str(path),
        )
    return config


def _start_over(config: Config, log: SqliteLog) -> int:
    loop = CaptureLoop(_StartOver(config), log, clock=SystemClock(), metrics=NoMetrics())
    loop.start()
    give_up = time.monotonic() + _SNAPSHOT_TIMEOUT_S
    while loop.facts.caught_up_head is None and loop.error is None:
        if time.monotonic() > give_up:
            loop.stop()
            raise TransientError("source-busy", "the snapshot did not end in time")
        time.sleep(_POLL_S)
    loop.drain()
    loop.join()
    return loop.facts.head


def _beyond(config: Config) -> Position:
    if config.source.url.server is not None:
        from headwater.source.postgres.place import Place as ServerPlace

        return ServerPlace(system="none", timeline=0, slot="none").encode()
    from headwater.source.sqlite.place import Place

    return Place(change_id=sys.maxsize, generation=0).encode()


class _StartOver:
    """The source, told once to truncate and snapshot its tables. Implements contract.Source.

    A position that the database never had is a gap, and the answer to a gap is to start over.
    """

    def __init__(self, config: Config) -> None:
        options = replace(source_options(config), snapshot="initial", on_gap="resnapshot")
        self._source = open_source(config.source.url, options)
        self._beyond = _beyond(config)
        self._told = False

    @property
    def identity(self) -> SourceIdentity:
        """The database's own."""
        return self._source.identity

    @property
    def capabilities(self) -> SourceCapabilities:
        """The database's own."""
        return self._source.capabilities

    def open(self, resume: Position | None) -> None:
        """The first time beyond the end, later where the log stands."""
        self._source.open(resume if self._told else self._beyond)
        self._told = True

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The source's own."""
        return self._source.read(max_events, timeout_s)

    def confirm(self, position: Position) -> None:
        """The source's own."""
        self._source.confirm(position)

    def close(self) -> None:
        """The source's own."""
        self._source.close()
