"""`headwater spark …`: tables as of a position, and Spark's checkpoint."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

spark_app = typer.Typer(help="The tables that Spark keeps.", rich_markup_mode=None)
checkpoint_app = typer.Typer(
    help="Spark's checkpoint: look into it, make it anew.", rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    spark_app.command(
        "as-of",
        epilog=example(
            "headwater spark as-of shop.yaml", "headwater spark as-of shop.yaml 1200 --sql"
        ),
    )(as_of)
    checkpoint_app.command(
        "inspect", epilog=example("headwater spark checkpoint inspect shop.yaml")
    )(inspect)
    checkpoint_app.command(
        "rebuild", epilog=example("headwater spark checkpoint rebuild shop.yaml --yes")
    )(rebuild)
    spark_app.command(
        "release",
        epilog=example(
            "headwater spark release shop.yaml orders",
            "headwater spark release shop.yaml orders@scd2",
            "headwater spark release shop.yaml orders --after 1200",
        ),
    )(release)
    spark_app.add_typer(checkpoint_app, name="checkpoint")
    app.add_typer(spark_app, name="spark")


def as_of(
    file: ConfigFile,
    sequence: Annotated[
        int | None,
        typer.Argument(metavar="[SEQ]", min=0, help="An event; default: the newest published."),
    ] = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print only statements that make a view of each table.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show which versions of the tables belong together.

    All tables at one position of the source, with the SQL that reads them: the newest set that was
    published up to SEQ.
    """
    from headwater.app.spark.state import tables_as_of

    with reporting("spark as-of", as_json=as_json, config=file) as out:
        facts = tables_as_of(file, sequence)
        summary = f"{len(facts['tables'])} tables at event {facts['sequence']:,}"
        if sql:
            for each in facts["tables"]:
                out.say(f"CREATE OR REPLACE TEMPORARY VIEW {each['view']} AS {each['sql']};")
        else:
            _show_set(out, facts)
            out.say(f"{summary}, committed at {facts['committed_at']}", style="bold")
        out.done(summary, facts)


def _show_set(out: Report, facts: dict[str, Any]) -> None:
    rows = [
        (each["table"], each["mode"], f"{each['version']:,}", each["sql"])
        for each in facts["tables"]
    ]
    out.say(grid(("TABLE", "MODE", "VERSION", "SQL"), rows, (2,)))


def release(
    file: ConfigFile,
    table: Annotated[str, typer.Argument(help="The table: orders, public.orders, orders@scd2.")],
    after: Annotated[
        int | None,
        typer.Option(min=0, metavar="SEQ", help="Leave out what comes up to this event, too."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a parked table go on without events that it cannot have.

    For a table that status shows with [spark-table-gap]: it takes what the log still holds, and
    its rows may be wrong until verify --repair has mended them. For one whose events it can never
    take, say --after. Stop the pipeline first.
    """
    from headwater.app.spark.release import release_table

    with reporting("spark release", as_json=as_json, config=file) as out:
        facts = release_table(file, table, after)
        for each in facts["released"]:
            if each["goes_on_after"] is None:
                out.mark("ok", f"{each['table']} is not kept any more: its place is given up")
                continue
            lost = each["without"]
            after_event = f"{each['table']} goes on after event {each['goes_on_after']:,}"
            if lost is None:
                kept = ": the log holds all that it lacks" if after is None else ""
                out.mark("info", f"{after_event}{kept}")
            else:
                out.mark("ok", f"{after_event}, without events {lost[0]:,} to {lost[1]:,}")
        out.hint("headwater run FILE, then headwater verify FILE --repair")
        out.done(f"{len(facts['released'])} released", facts)


def inspect(file: ConfigFile, as_json: Json = False) -> None:
    """Compare the checkpoint with the tables and the log.

    Shows where a stream would go on, what each table has, and what is broken; the exit code is then
    1.
    """
    from headwater.app.spark.checkpoint import inspect_checkpoint

    with reporting("spark checkpoint inspect", as_json=as_json, config=file) as out:
        facts = inspect_checkpoint(file)
        _show_checkpoint(out, facts)
        out.mark("ok" if facts["ok"] else "error", facts["summary"])
        for fault in facts["faults"][1:]:
            out.mark("error", fault)
        if not facts["ok"]:
            out.hint("headwater spark checkpoint rebuild FILE")
        out.done(facts["summary"], facts, ok=facts["ok"])


def rebuild(
    file: ConfigFile,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; else only say what it is.")] = False,
    as_json: Json = False,
) -> None:
    """Make the checkpoint anew, from what the tables know.

    The stream then goes on where every table has everything; tables that have more skip it. The
    old checkpoint is moved aside, and a cursor that is ahead is set back. Stop the pipeline first.
    """
    from headwater.app.spark.checkpoint import rebuild_checkpoint

    with reporting("spark checkpoint rebuild", as_json=as_json, config=file) as out:
        facts = rebuild_checkpoint(file, really=yes)
        _show_checkpoint(out, facts)
        where = f"after event {facts['begins_after']:,}"
        if facts["done"]:
            summary = f"rebuilt: a stream goes on {where}"
            out.mark("ok", summary)
            if facts["moved_to"]:
                out.mark("info", f"the old checkpoint is {facts['moved_to']}")
        else:
            summary = f"nothing was changed; a rebuilt checkpoint would go on {where}"
            out.mark("info", summary)
            out.hint("headwater spark checkpoint rebuild FILE --yes")
        out.done(summary, facts)


def _show_checkpoint(out: Report, facts: dict[str, Any]) -> None:
    shown = [
        ("checkpoint", facts["checkpoint"] if facts["exists"] else "none"),
        (
            "batches",
            f"begun {_number(facts['batch_begun'])}, finished {_number(facts['batch_finished'])}",
        ),
        ("cursor", _number(facts["cursor"])),
        ("log", f"{facts['log']['tail']:,} to {facts['log']['head']:,}"),
        ("published state", _number(facts["state"])),
    ]
    out.say(grid(("", ""), shown))
    rows = [
        (
            each["table"],
            each["mode"],
            *(f"{each[name]:,}" for name in ("applied", "complete", "lag_events")),
        )
        for each in facts["tables"]
    ]
    out.say(grid(("TABLE", "MODE", "APPLIED", "COMPLETE", "LAG"), rows, (2, 3, 4)))


def _number(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"
