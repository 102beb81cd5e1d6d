"""`headwater run`: capture, consumers, Spark and status server, until told to stop."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.doors import Doors
from headwater.cli.example import example
from headwater.cli.output import Json, Report, console, is_live, reporting
from headwater.cli.text import printable

if TYPE_CHECKING:
    from rich.live import Live

    from headwater.app.config import Config
    from headwater.app.pipeline import Pipeline

_REDRAW_S = 0.5
_RECORD_S = 10.0
_LOG = logging.getLogger("headwater.run")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "run", epilog=example("headwater run shop.yaml", "headwater run shop.yaml --once --json")
    )(run)


def run(
    context: typer.Context,
    file: ConfigFile,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Catch up with everything committed now, and stop.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a pipeline: capture, consumers, Spark tables.

    The first Ctrl-C drains: what is captured is delivered, then it stops. The second one stops at
    once; what was not acknowledged is delivered again next time.
    """
    from headwater.app.config import load_config
    from headwater.app.pipeline import Pipeline

    with reporting("run", as_json=as_json, config=file) as out, ExitStack() as parts:
        config = load_config(file)
        pipeline = Pipeline(config)
        line = parts.enter_context(_status_line(quiet=as_json))
        parts.enter_context(pipeline.process_setup(line.log_level(config)))
        doors = context.obj
        if config.server.enabled and isinstance(doors, Doors) and doors.open_server is not None:
            server = doors.open_server(config.server, pipeline)
            parts.callback(server.stop)
            line.note(f"status at {server.address}/api/status")
        pipeline.run(once=once, on_tick=line.show)
        facts = pipeline.status()
        line.clear()
        _summarise(out, facts)


def _summarise(out: Report, facts: dict[str, Any]) -> None:
    capture = facts["capture"]
    summary = (
        f"captured {capture['events_total']:,} events; the log ends at {facts['log']['head']:,}"
    )
    out.mark("ok", summary)
    for name, cursor in facts["cursors"].items():
        out.mark("ok" if not cursor["lag_events"] else "info", _consumer_line(name, cursor))
    out.done(summary, facts)


def _consumer_line(name: str, cursor: dict[str, Any]) -> str:
    waiting = cursor["lag_events"]
    rest = f"{waiting:,} events come next time" if waiting else "everything delivered"
    return f"{name}: at {cursor['acked']:,}, {rest}"


class StatusLine:
    """One line about the running pipeline: redrawn on a terminal, a log record elsewhere.

    It goes to standard error: standard output belongs to sinks and to `--json`.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._live: Live | None = None
        self._quiet = quiet
        self._next_s = 0.0
        self._drain_told = False

    def show(self, pipeline: Pipeline) -> None:
        """Called by the supervisor several times a second."""
        if self._quiet:
            return
        if pipeline.draining and not self._drain_told:
            self._drain_told = True
            self.note("draining: delivering what is captured; Ctrl-C again stops at once")
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (_RECORD_S if self._live is None else _REDRAW_S)
        text = status_text(pipeline.status())
        if self._live is None:
            _LOG.info(text)
        else:
            from rich.text import Text

            self._live.update(Text(printable(text), no_wrap=True, overflow="ellipsis"))

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._quiet:
            return
        if self._live is None:
            _LOG.info(text)
        else:
            self._live.console.print(text, style="dim")

    def log_level(self, config: Config) -> str:
        """Beside a live line, ordinary records would only say again what it shows."""
        level = config.observability.log_level
        if self._quiet:
            return "error"
        return "warning" if self._live is not None and level == "info" else level

    def clear(self) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.stop()

    def attach(self, live: Live) -> None:
        """Draw into this live display."""
        self._live = live


@contextmanager
def _status_line(*, quiet: bool) -> Iterator[StatusLine]:
    line = StatusLine(quiet=quiet)
    if quiet or not is_live(sys.stderr):
        yield line
        return
    from rich.live import Live

    with Live(console=console(sys.stderr), auto_refresh=True, transient=True) as live:
        line.attach(live)
        yield line


def status_text(facts: dict[str, Any]) -> str:
    """The pipeline in one line."""
    capture, health = facts["capture"], facts["health"]
    parts = [
        f"{facts['name']} {health['status']}",
        capture["state"],
        f"event {facts['log']['head']:,}",
        f"{capture['events_per_s']:,.0f}/s",
    ]
    if capture["load"] is not None:
        parts.append(_load_text(capture["load"]))
    parts += [f"{name} lag {each['lag_events']:,}" for name, each in facts["cursors"].items()]
    if health["reason"]:
        parts.append(health["reason"])
    return " · ".join(parts)


def _load_text(load: dict[str, Any]) -> str:
    """Where the first load is, and how long it will take."""
    text = f"{load['table']} {load['rows_done']:,}"
    if load["rows_total"]:
        text += f" of about {max(load['rows_total'], load['rows_done']):,} rows"
    return text if load["eta_s"] is None else f"{text}, {timedelta(seconds=load['eta_s'])} to go"
