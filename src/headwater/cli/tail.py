"""`headwater tail`: the changes in a log, as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, is_live, reporting
from headwater.cli.paste import config_in

if TYPE_CHECKING:
    from headwater.event import Event


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "tail",
        epilog=example(
            "headwater tail shop.hwlog --diff --table 'order*'",
            "headwater tail shop.yaml --key 17 --from earliest --no-follow",
        ),
    )(tail)


def tail(
    log: Annotated[Path, typer.Argument(metavar="LOG|FILE", help="A log, or its configuration.")],
    *,
    diff: Annotated[bool, typer.Option(help="Show each change as a diff of its columns.")] = False,
    table: Annotated[str | None, typer.Option(help="Only this table; a glob is allowed.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Only this row: 17, or order_id=1,line=2.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="earliest, latest or a sequence number."),
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option(help="Wait for more; the default on a terminal.", show_default=False),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many changes.")] = None,
    as_json: Json = False,
) -> None:
    """Show the changes in a log as they come.

    Green is inserted, red deleted, yellow updated; ∅ is NULL, ⋯ a value that was not sent.
    Without --from it begins with the last 20 changes, or at the beginning if a table or key is
    asked for.
    """
    from headwater.app.tail import TailQuery
    from headwater.app.tail import tail as read

    with reporting("tail", as_json=as_json, config=config_in(log)) as out:
        waiting = (not as_json and is_live(sys.stdout)) if follow is None else follow
        if as_json and waiting and limit is None:
            raise typer.BadParameter(
                "one JSON envelope needs an end: add --limit, or leave --follow out"
            )
        query = TailQuery(table=table, key=key, start=start, follow=waiting, limit=limit)
        with suppress(KeyboardInterrupt):  # the usual way to end it is not a failure
            _show(out, read(_log_path(log), query), diff=diff)


def _show(out: Report, events: Iterator[Event], *, diff: bool) -> None:
    from headwater.app.changes import describe
    from headwater.cli.changes import as_plain, block, line

    shown = []
    count = 0
    for event in events:
        change = describe(event, only_changed=diff and not out.as_json)
        count += 1
        if out.as_json:
            shown.append(as_plain(change))
        else:
            out.say(block(change) if diff else line(change))
    out.done(f"{count} changes", {"changes": shown})


def _log_path(path: Path) -> Path:
    """A configuration stands for its log."""
    if config_in(path) is None:
        return path
    from headwater.app.config import load_config

    return load_config(path).log.path
