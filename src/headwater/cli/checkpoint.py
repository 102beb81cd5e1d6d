"""`headwater checkpoint …`: carry a log's places to another machine, or set its consumers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

checkpoint_app = typer.Typer(help="Places of a log in a file.", rich_markup_mode=None)

Log = Annotated[Path, typer.Argument(metavar="LOG", help="The log file.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    checkpoint_app.command(
        "export", epilog=example("headwater checkpoint export shop.hwlog shop.checkpoint.json")
    )(export)
    checkpoint_app.command(
        "import", epilog=example("headwater checkpoint import shop.checkpoint.json moved.hwlog")
    )(import_)
    app.add_typer(checkpoint_app, name="checkpoint")


def export(
    log: Log,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Default: checkpoint_SOURCE.json."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write where the source and the consumers stand to a file.

    Stop the pipeline first: what it captures later is not in the file.
    """
    from headwater.app.checkpoint import export_checkpoint

    with reporting("checkpoint export", as_json=as_json) as out:
        facts = export_checkpoint(log, file, force=force)
        _show(out, facts)
        if facts["writer"]:
            out.mark("warning", f"{facts['writer']} goes on writing to the log")
        summary = f"event {facts['head']:,} and {len(facts['cursors'])} consumers"
        out.mark("ok", f"{summary} are in {facts['file']}")
        out.done(summary, facts)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The checkpoint file.")],
    log: Log,
    cursors: Annotated[
        bool, typer.Option("--cursors", help="Only set the consumers of the log it came from.")
    ] = False,
    source_only: Annotated[
        bool, typer.Option("--source-only", help="Leave the consumers out.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let a new log go on where another one stood.

    Events are not in the file: a consumer that was behind is refused. The new log goes on under the
    id and with the numbers of the old one, so leave the old one alone afterwards.
    """
    from headwater.app.checkpoint import import_checkpoint

    with reporting("checkpoint import", as_json=as_json) as out:
        if cursors and source_only:
            raise typer.BadParameter("--cursors and --source-only leave nothing to import")
        facts = import_checkpoint(file, log, cursors_only=cursors, source_only=source_only)
        _show(out, facts)
        what = "the consumers stand" if cursors else "the log goes on"
        summary = f"{what} at event {facts['head']:,}"
        out.mark("ok", summary)
        out.done(summary, facts)


def _show(out: Report, facts: dict[str, Any]) -> None:
    out.say(grid(("", ""), [("source", facts["source"]), ("position", facts["position"])]))
    if facts["cursors"]:
        rows = [(each["name"], f"{each['acked']:,}") for each in facts["cursors"]]
        out.say(grid(("CONSUMER", "ACKED"), rows, (1,)))
