"""`headwater status`: how far capture, every consumer and every table are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.example import example
from headwater.cli.log import LAG, lag_cells, moment
from headwater.cli.output import Json, Report, grid, reporting

_TABLES_SHOWN = 20
_WATCH_S = 2.0


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    examples = example("headwater status shop.yaml", "headwater status shop.yaml --watch")
    app.command("status", epilog=examples)(status)


def status(
    file: ConfigFile,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Show every table, not only parked and slow ones.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again every two seconds, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how far capture and every consumer are.

    Works from the log file alone; if the pipeline runs with its status server, its live state too.
    Of many tables it shows those that are parked and those that are slowest.
    """
    from headwater.app.inspect import inspect

    if watch and as_json:
        raise typer.BadParameter("--watch is for people; call --json again instead")
    with reporting("status", as_json=as_json, config=file) as out:
        if watch:
            with suppress(KeyboardInterrupt):
                _watch(out, file, every=every)
        facts = inspect(file)
        _show(out, facts, every=every)
        out.done(facts["summary"], facts, ok=facts["ok"])


def _watch(out: Report, file: Path, *, every: bool) -> None:
    """On a terminal each look takes the place of the one before; in a pipe it follows it."""
    from headwater.app.inspect import inspect

    with out.console.screen() if out.live else nullcontext():
        while True:
            facts = inspect(file)
            if out.live:
                out.console.clear()
            _show(out, facts, every=every)
            out.say()
            time.sleep(_WATCH_S)


def _show(out: Report, facts: dict[str, Any], *, every: bool) -> None:
    out.mark("ok" if facts["ok"] else "error", f"{facts['name']}: {facts['summary']}")
    if facts["remedy"]:
        out.hint(facts["remedy"])
    log = facts["log"]
    rows = [
        ("source", facts["source"]),
        ("log", f"{log['path']}  {log['events']:,} events up to {log['head']:,}"),
        ("last append", f"{moment(log['appended_at_ms'])} UTC"),
        ("writer", facts["writer"]),
    ]
    out.say(grid(("", ""), rows))
    if log["cursors"]:
        out.say()
        cursors = [
            (each["name"], f"{each['acked']:,}", *lag_cells(each), moment(each["updated_at_ms"]))
            for each in log["cursors"]
        ]
        names = ("CONSUMER", "ACKED", *LAG, "UPDATED (UTC)")
        out.say(grid(names, cursors, (1, 2, 3, 4)))
    _show_tables(out, facts["tables"], every=every)
    if facts["tables"] and facts["live"] is None:
        last_ms = max(each["at_ms"] for each in facts["tables"].values())
        out.say(f"no process tells of the tables; the last batch that is known: {moment(last_ms)}")
    _show_proofs(out, facts["proofs"])


def _show_proofs(out: Report, proofs: list[dict[str, Any]]) -> None:
    """When each table was last proven equal to its source."""
    if not proofs:
        return
    rows = []
    for each in proofs:
        never = each["equal_sequence"] is None
        equal = "never" if never else f"{each['equal_sequence']:,}"
        when = "" if never else moment(each["equal_at_ms"])
        differed = f"differed at {each['sequence']:,}, {moment(each['at_ms'])}"
        rows.append((each["table"], equal, when, "" if each["equal"] else differed))
    out.say()
    out.say(grid(("TABLE", "LAST PROVEN EQUAL AT", "TIME (UTC)", ""), rows, (1,)))


def _show_tables(out: Report, tables: dict[str, Any], *, every: bool) -> None:
    """What the running process says of Spark's tables, or what is known of their last batches."""
    if not tables:
        return
    shown = by_need(tables)[: None if every else _TABLES_SHOWN]
    rows = [
        (
            name,
            f"{table['sequence']:,}",
            *lag_cells(table),
            f"{table['events_per_s']:,.0f}",
            f"{table['seconds']:.1f}",
            f"parked [{table['parked']}]" if table["parked"] else "",
        )
        for name, table in shown
    ]
    out.say()
    names = ("TABLE", "APPLIED", *LAG, "EVENTS/S", "SECONDS", "")
    out.say(grid(names, rows, (1, 2, 3, 4, 5, 6)))
    if len(tables) > len(shown):
        parked = sum(1 for table in tables.values() if table["parked"])
        out.say(f"{len(tables):,} tables, {parked:,} parked; the slowest are shown, --all has more")


def by_need(tables: Mapping[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Parked tables, then those that took longest in their last batch."""

    def need(each: tuple[str, dict[str, Any]]) -> tuple[bool, float, str]:
        name, table = each
        return not table["parked"], 0.0 if table["parked"] else -table["seconds"], name

    return sorted(tables.items(), key=need)
