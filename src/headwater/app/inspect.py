"""Status of a pipeline from outside its process: from the log file, and its server if it runs."""

from __future__ import annotations

import json
import os
import socket
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from shlex import quote
from typing import Any

from headwater.app.config import Config, ServerSettings, load_config
from headwater.app.last_known import last_known
from headwater.app.logs import log_info
from headwater.app.proven import kept
from headwater.app.spark.loop import CONSUMER as SPARK
from headwater.app.spark.places import parked_table

_SERVER_TIMEOUT_S = 2.0
# Of parked tables in the summary, which is one line.
_NAMED = 5


def inspect(file: Path) -> dict[str, Any]:
    """What is known about the pipeline of this configuration, as plain values."""
    config = load_config(file)
    log = log_info(config.log.path)
    live = _live_status(config.server, config.name)
    writer = writer_of(config.log.path)
    health = (live or {}).get("health") or {}
    ok, summary = _judge(log, live, running=writer is not None)
    return {
        "name": config.name,
        "ok": ok,
        "summary": summary,
        "remedy": health.get("remedy", "") or _remedy(config, file, log),
        "source": str(config.source.url),
        "writer": writer or "not running",
        "log": log,
        "tables": last_known(config) | (live or {}).get("tables", {}),
        "proofs": kept(config),
        "live": live,
    }


def _judge(log: dict[str, Any], live: dict[str, Any] | None, *, running: bool) -> tuple[bool, str]:
    unrestored = [hole for hole in log["holes"] if hole["restored_by"] is None]
    parked = _parked(log)
    waiting = max((cursor["lag_events"] for cursor in log["cursors"]), default=0)
    behind = f"{waiting:,} events wait for the slowest consumer" if waiting else "nothing waits"
    health = (live or {}).get("health")
    if health is not None:
        reason = f" ({health['reason']})" if health["reason"] else ""
        ok = health["status"] not in {"stalled", "failed"} and not parked
        return ok, f"{health['status']}{reason}; {parked}{behind}"
    if unrestored:
        return False, f"the log has {len(unrestored)} holes"
    return not parked, f"{'running' if running else 'not running'}; {parked}{behind}"


def _parked(log: dict[str, Any]) -> str:
    """Which tables Spark has parked, as a part of the summary."""
    names = {parked_table(cursor["name"], SPARK) for cursor in log["cursors"]}
    parked = sorted(name for name in names if name is not None)
    more = f" and {len(parked) - _NAMED:,} more" if len(parked) > _NAMED else ""
    return f"parked: {', '.join(parked[:_NAMED])}{more}; " if parked else ""


def _remedy(config: Config, file: Path, log: dict[str, Any]) -> str:
    damaged = any(hole["restored_by"] is None for hole in log["holes"])
    if damaged:
        return f"headwater log repair {quote(str(config.log.path))} --config {quote(str(file))}"
    again = f"headwater run {quote(str(file))} --once shows why a table is parked"
    return again if _parked(log) else ""


def writer_of(path: Path) -> str | None:
    """Who writes the log, by the note in its lock file, if that process still lives here.

    The lock itself is not tried: holding it even for a moment would make a starting writer fail.
    """
    try:
        owner = json.loads(path.with_name(f"{path.name}.lock").read_text())
        process, host = int(owner["pid"]), str(owner["host"])
        if host == socket.gethostname():
            os.kill(process, 0)
    except PermissionError:
        pass  # it lives, as another user
    except (OSError, ValueError, KeyError):
        return None
    return f"process {process} on {host}"


def _live_status(server: ServerSettings, name: str) -> dict[str, Any] | None:
    """What the running process says, if it listens where the configuration says and is this one."""
    if not server.enabled or server.port == 0:
        return None
    headers = {}
    if server.token is not None:
        headers["Authorization"] = f"Bearer {server.token.reveal()}"
    connection = HTTPConnection(server.host, server.port, timeout=_SERVER_TIMEOUT_S)
    try:
        connection.request("GET", "/api/status", headers=headers)
        response = connection.getresponse()
        answer = json.loads(response.read()) if response.status == 200 else None
    except (OSError, ValueError, HTTPException):
        return None
    finally:
        connection.close()
    if not isinstance(answer, dict) or answer.get("name") != name:
        return None
    return answer
