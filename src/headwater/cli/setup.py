"""`headwater setup`: prepare a database for capture, or clean it up again."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, reporting

setup_app = typer.Typer(help="Prepare a database for capture.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    setup_app.command(
        "sqlite",
        epilog=example(
            "headwater setup sqlite sqlite:///shop.db --dry-run",
            "headwater setup sqlite shop.db --tables 'order*,customers'",
        ),
    )(sqlite)
    app.add_typer(setup_app, name="setup")


def sqlite(
    url: Annotated[str, typer.Argument(metavar="URL", help="sqlite:///shop.db, or a path.")],
    *,
    tables: Annotated[
        str, typer.Option(help="Names or globs, separated by commas; default: every table.")
    ] = "*",
    remove: Annotated[bool, typer.Option(help="Remove capture from the database.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Print the SQL and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Install change capture in a SQLite database.

    Triggers write every change into a table of its own. Repeating it changes nothing. --remove
    takes everything out again, changes that were not read yet included.
    """
    from headwater.app.database import sqlite_path
    from headwater.app.registry import parse_url
    from headwater.app.setup import install_capture, installation_sql, remove_capture

    with reporting("setup sqlite", as_json=as_json) as out:
        path = sqlite_path(parse_url(url))
        patterns = tuple(filter(None, (part.strip() for part in tables.split(","))))
        if dry_run and not remove:
            statements = installation_sql(path, patterns)
            for sql in statements:
                out.say(f"{sql};")
            out.done(f"{len(statements)} statements, none executed", {"sql": statements})
        elif dry_run:
            raise typer.BadParameter(
                "--dry-run shows an installation; it does not go with --remove"
            )
        elif remove:
            outcome = remove_capture(path)
            summary = f"capture removed from {len(outcome['removed'])} tables"
            out.mark("ok", summary)
            out.done(summary, outcome)
        else:
            outcome = install_capture(path, patterns)
            new, captured = outcome["renewed"], outcome["captured"]
            for name in captured:
                out.mark("ok", f"{name}{'' if name in new else '  (was captured already)'}")
            out.hint(f"headwater init --from {url}")
            out.done(f"{len(captured)} tables captured, {len(new)} of them new", outcome)
