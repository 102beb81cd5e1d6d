"""`headwater doctor` and `headwater status`: is everything ready, and how is it going."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

_TABLES_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("status", epilog=example("headwater status shop.yaml"))(status)
    app.command("doctor", epilog=example("headwater doctor shop.yaml"))(doctor)


def doctor(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Also check what this file names.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the machine, and a pipeline if one is named.

    Exit code 3: the machine is not ready; 2: the configuration is wrong; warnings do not count.
    """
    from headwater.app.doctor import diagnose
    from headwater.app.finding import worst

    with reporting("doctor", as_json=as_json) as out:
        findings = diagnose(file)
        width = max(len(finding.check) for finding in findings)
        for finding in findings:
            code = f"  [{finding.code}]" if finding.code else ""
            out.mark(finding.severity, f"{finding.check:<{width}}  {finding.evidence}{code}")
            if finding.fix and finding.severity != "info":
                out.hint(finding.fix)
        exit_code = worst(findings)
        count = dict.fromkeys(("ok", "info", "warning", "error"), 0)
        for finding in findings:
            count[finding.severity] += 1
        summary = f"{count['error']} errors, {count['warning']} warnings, {count['ok']} ok"
        out.say(summary, style="bold")
        result = [finding.as_dict() for finding in findings]
        out.done(summary, {"findings": result}, ok=exit_code == 0, exit_code=exit_code)


def status(
    file: ConfigFile,
    every: Annotated[
        bool, typer.Option("--all", help="Show every table, not only parked and slow ones.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how far capture and every consumer are.

    Works from the log file alone; if the pipeline runs with its status server, its live state too.
    Of many tables it shows those that are parked and those that are slowest.
    """
    from headwater.app.inspect import inspect

    with reporting("status", as_json=as_json) as out:
        facts = inspect(file)
        _show(out, facts, every=every)
        out.done(facts["summary"], facts, ok=facts["ok"])


def _show(out: Report, facts: dict[str, Any], *, every: bool) -> None:
    from headwater.cli.log import moment

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
            (
                each["name"],
                f"{each['acked']:,}",
                f"{each['lag_events']:,}",
                moment(each["updated_at_ms"]),
            )
            for each in log["cursors"]
        ]
        out.say(grid(("CONSUMER", "ACKED", "LAG", "UPDATED (UTC)"), cursors, (1, 2)))
    _show_tables(out, (facts["live"] or {}).get("tables") or {}, every=every)
    _show_proofs(out, facts["proofs"])


def _show_proofs(out: Report, proofs: list[dict[str, Any]]) -> None:
    """When each table was last proven equal to its source."""
    from headwater.cli.log import moment

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
    """What the running process says of Spark's tables."""
    if not tables:
        return
    shown = by_need(tables)[: None if every else _TABLES_SHOWN]
    rows = [
        (
            name,
            f"{table['sequence']:,}",
            f"{table['lag_events']:,}",
            f"{table['events_per_s']:,.0f}",
            f"{table['seconds']:.1f}",
            f"parked [{table['parked']}]" if table["parked"] else "",
        )
        for name, table in shown
    ]
    out.say()
    out.say(grid(("TABLE", "APPLIED", "LAG", "EVENTS/S", "SECONDS", ""), rows, (1, 2, 3, 4)))
    if len(tables) > len(shown):
        parked = sum(1 for table in tables.values() if table["parked"])
        out.say(f"{len(tables):,} tables, {parked:,} parked; the slowest are shown, --all has more")


def by_need(tables: Mapping[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Parked tables, then those that took longest in their last batch."""

    def need(each: tuple[str, dict[str, Any]]) -> tuple[bool, float, str]:
        name, table = each
        return not table["parked"], 0.0 if table["parked"] else -table["seconds"], name

    return sorted(tables.items(), key=need)
