"""One pipeline: its database, capture, log, target and port."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from headwater.app.config import Config
from headwater.app.database import DatabaseFacts, look, sqlite_path
from headwater.app.doctor.postgres import postgres_checks
from headwater.app.finding import Finding
from headwater.app.logs import log_info
from headwater.app.registry import open_log
from headwater.app.tables import choose_tables
from headwater.errors import HeadwaterError

_LOW_DISK_BYTES = 1 << 30


def pipeline_checks(config: Config) -> list[Finding]:
    """Findings about what the configuration names."""
    checks: list[Callable[[Config], list[Finding]]] = [_source, _log, _target, _server]
    return [finding for check in checks for finding in check(config)]


def _source(config: Config) -> list[Finding]:
    if config.source.url.server is not None:
        return postgres_checks(config)
    try:
        path = sqlite_path(config.source.url)
        facts = look(path)
    except HeadwaterError as exc:
        return [Finding.of("database", exc)]
    findings = [Finding("database", "ok", f"{path}: {len(facts.tables)} tables")]
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        findings.append(
            Finding(
                "database permission",
                "error",
                f"{path} or its directory cannot be written",
                "source-missing",
                "capture confirms what it has read: give this user write permission",
            )
        )
    return [*findings, *_capture(config, facts)]


def _capture(config: Config, facts: DatabaseFacts) -> list[Finding]:
    source = config.source
    try:
        wanted = choose_tables(source.tables, source.exclude, facts.capturable, "source.tables")
    except HeadwaterError as exc:
        return [Finding.of("tables", exc)]
    setup = f"headwater setup sqlite {config.source.url}"
    missing = sorted({table.name for table in wanted} - set(facts.captured or ()))
    if missing:
        text = f"no triggers yet on: {', '.join(missing)}; the first start installs them"
        return [Finding("capture", "warning", text, "sqlite-not-installed", f"or now: {setup}")]
    if facts.drift:
        text = "; ".join(facts.drift)
        return [Finding("capture", "warning", text, "sqlite-drift", setup)]
    return [Finding("capture", "ok", f"triggers on {len(wanted)} tables, up to date")]


def _log(config: Config) -> list[Finding]:
    path = config.log.path
    if not path.exists():
        return [*_writable("log", path.parent), Finding("log", "info", f"{path} is not there yet")]
    try:
        facts = log_info(path)
        damages = open_log(path).check()
    except HeadwaterError as exc:
        return [Finding.of("log", exc)]
    if damages:
        repair = f"headwater log repair {shlex.quote(str(path))} --config FILE"
        text = f"{len(damages)} damaged ranges; the first: {damages[0].reason}"
        return [Finding("log", "error", text, "log-corrupt", repair, 1)]
    findings = [Finding("log", "ok", f"{facts['events']:,} events, every checksum matches")]
    if path.stat().st_mode & 0o077:
        findings.append(
            Finding(
                "log permission",
                "warning",
                f"{path} can be read by other users",
                "log-open-to-others",
                f"chmod 600 {path}",
            )
        )
    return [*findings, *_writable("log", path.parent)]


def _target(config: Config) -> list[Finding]:
    if config.spark is None or "://" in config.spark.target:
        return []
    return _writable("target", Path(config.spark.target))


def _writable(what: str, directory: Path) -> list[Finding]:
    """The nearest directory that exists decides, because the rest would be made in it."""
    while not directory.exists():
        directory = directory.parent
    if not os.access(directory, os.W_OK):
        text = f"{directory} cannot be written"
        fix = "give this user write permission, or choose another directory"
        return [Finding(f"{what} directory", "error", text, "file-unwritable", fix)]
    free = shutil.disk_usage(directory).free
    text = f"{free / 2**30:.1f} GiB free at {directory}"
    low = free < _LOW_DISK_BYTES
    return [
        Finding(
            f"{what} directory",
            "warning" if low else "ok",
            text,
            "machine-disk" if low else "",
            "free some space" if low else "",
        )
    ]


def _server(config: Config) -> list[Finding]:
    server = config.server
    if not server.enabled or server.port == 0:
        return []
    try:
        with socket.create_server((server.host, server.port)):
            return [Finding("status port", "ok", f"{server.host}:{server.port} is free")]
    except OSError as exc:
        text = f"{server.host}:{server.port}: {exc.strerror} (is the pipeline running?)"
        fix = "set server.port to a free port, or to 0"
        return [Finding("status port", "warning", text, "server-bind", fix)]
