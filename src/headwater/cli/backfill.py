"""`headwater backfill …`: read existing rows once more, beside the running stream."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.bars import bars, rate, time_left
from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

RowsPerSecond = Annotated[
    int | None,
    typer.Option("--rows-per-s", min=1, help="Read at most so many rows each second."),
]

backfill_app = typer.Typer(
    help="Read existing rows once more, while the pipeline runs.", rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    backfill_app.command(
        "start",
        epilog=example(
            "headwater backfill start shop.yaml orders --wait",
            "headwater backfill start shop.yaml orders --where \"created_at > '2026-01-01'\"",
        ),
    )(start)
    backfill_app.command("status", epilog=example("headwater backfill status shop.yaml"))(status)
    backfill_app.command("pause", epilog=example("headwater backfill pause shop.yaml"))(pause)
    backfill_app.command("resume", epilog=example("headwater backfill resume shop.yaml"))(resume)
    backfill_app.command("stop", epilog=example("headwater backfill stop shop.yaml orders"))(stop)
    backfill_app.command("throttle", epilog=example("headwater backfill throttle shop.yaml 500"))(
        throttle
    )
    app.add_typer(backfill_app, name="backfill")


def start(
    file: ConfigFile,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A captured table.")],
    *,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Only rows that fulfil this condition.")
    ] = None,
    rows_per_s: RowsPerSecond = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the rows are read.")] = False,
    as_json: Json = False,
) -> None:
    """Read the rows of a table once more, as events of their own.

    The stream goes on meanwhile, and the rows are put where they fit. If no capture runs, the
    request waits for its next run.
    """
    from headwater.app.backfill import Verb, Wish

    wish = Wish(verb=Verb.START, table=table, where=where, rows_per_s=rows_per_s)
    with reporting("backfill start", as_json=as_json, config=file) as out:
        asked = _ask(out, file, wish, f"the rows of {table} are being read")
        if wait and asked["state"] == "taken":
            asked["tables"] = _follow(out, file, asked["command"])
            rows = sum(each["rows_done"] for each in asked["tables"])
            asked["summary"] = f"read {rows:,} rows of {table}"
            out.mark("ok", asked["summary"])
        out.done(asked.pop("summary"), asked)


def status(file: ConfigFile, as_json: Json = False) -> None:
    """Show which rows are being read, and how far that is."""
    from headwater.app.backfill import status as facts_of

    with reporting("backfill status", as_json=as_json, config=file) as out:
        facts = facts_of(file)
        if facts["tables"]:
            columns = ("TABLE", "STATE", "ROWS", "OF ABOUT", "PER SECOND", "LEFT", "WHERE")
            out.say(grid(columns, [_row(each) for each in facts["tables"]], (2, 3, 4, 5)))
        for each in facts["tables"]:
            if each["failure"]:
                out.mark("error", f"{each['table']}: {each['failure']}")
                out.hint(f"headwater backfill stop FILE {shlex.quote(each['table'])}")
        for each in facts["waiting"]:
            table = f" {each['table']}" if each["table"] else ""
            out.mark("info", f"waits for the next run: {each['verb']}{table}")
        running = [each for each in facts["tables"] if each["state"] in _UNFINISHED]
        summary = f"{len(running)} unfinished, capture {_runs(running=facts['capturing'])}"
        out.say(summary, style="bold")
        out.done(summary, facts)


def pause(file: ConfigFile, as_json: Json = False) -> None:
    """Stop reading for now; changes are captured as before."""
    _steer("pause", file, "paused", as_json=as_json)


def resume(file: ConfigFile, as_json: Json = False) -> None:
    """Go on reading."""
    _steer("resume", file, "reading goes on", as_json=as_json)


def stop(
    file: ConfigFile,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Only this table.")] = None,
    as_json: Json = False,
) -> None:
    """Forget the rows that were asked for and not read yet.

    What an interrupted first load still owes is not forgotten: without it the log would be wrong.
    """
    _steer("stop", file, "the rest is forgotten", as_json=as_json, table=table)


def throttle(
    file: ConfigFile,
    rows_per_s: Annotated[
        int, typer.Argument(metavar="ROWS", min=0, help="Rows each second; 0 lifts the limit.")
    ],
    as_json: Json = False,
) -> None:
    """Set how many rows are read each second at most."""
    said = f"at most {rows_per_s:,} rows each second" if rows_per_s else "without limit"
    _steer("throttle", file, said, as_json=as_json, rows_per_s=rows_per_s)


_UNFINISHED = ("waiting", "reading", "paused")


def _steer(verb: str, file: Path, said: str, *, as_json: bool, **given: Any) -> None:
    from headwater.app.backfill import Verb, Wish

    with reporting(f"backfill {verb}", as_json=as_json, config=file) as out:
        asked = _ask(out, file, Wish(verb=Verb(verb), **given), said)
        out.done(asked.pop("summary"), asked)


def _ask(out: Report, file: Path, wish: Any, said: str) -> dict[str, Any]:
    from headwater.app.backfill import ask

    asked = ask(file, wish)
    if asked["state"] == "taken":
        asked["summary"] = said
        out.mark("ok", said)
    elif asked["capturing"]:
        asked["summary"] = "capture is busy with its first load; the request waits"
        out.mark("info", asked["summary"])
    else:
        asked["summary"] = "no capture runs; the request waits for the next run"
        out.mark("info", asked["summary"])
        out.hint("headwater run FILE")
    return asked


def _follow(out: Report, file: Path, number: int) -> list[dict[str, Any]]:
    from headwater.app.backfill import following

    tables: list[dict[str, Any]] = []
    with bars(out) as show:
        for tables in following(file, number):
            show(tables)
    return tables


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    total = facts["rows_total"]
    return (
        facts["table"],
        facts["state"],
        f"{facts['rows_done']:,}",
        "" if total is None else f"{total:,}",
        rate(facts),
        time_left(facts),
        facts["where"] or "",
    )


def _runs(*, running: bool) -> str:
    return "runs" if running else "does not run"
