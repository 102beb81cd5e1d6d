"""`headwater setup`: prepare a database for capture, or clean it up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, reporting
from headwater.cli.paste import config_in

if TYPE_CHECKING:
    from headwater.app.postgres.setup import SetupOrder

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
    setup_app.command(
        "postgres",
        epilog=example(
            "headwater setup postgres $OWNER_URL --role capture --dry-run",
            "headwater setup postgres $OWNER_URL --role capture --config shop.yaml",
        ),
    )(postgres)
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


def postgres(
    url: Annotated[str, typer.Argument(metavar="URL", help="As the tables' owner or superuser.")],
    *,
    role: Annotated[
        str | None, typer.Option(help="The role that will capture; it is given the rights.")
    ] = None,
    tables: Annotated[
        str, typer.Option(help="Names or globs, separated by commas; default: every table.")
    ] = "*",
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take publication and tables from here.")
    ] = None,
    publication: Annotated[
        str | None, typer.Option(help="Its name; default: headwater_ and the database's.")
    ] = None,
    event_triggers: Annotated[
        bool, typer.Option(help="Note statements that change tables; needs a superuser.")
    ] = True,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take it all out again.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Print the SQL and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Prepare a PostgreSQL database for capture.

    Rights for the capturing role, a publication, headwater.context() for applications, and event
    triggers. Repeating it changes nothing. What the role of the URL may not do is printed as SQL.
    """
    from headwater.app.postgres.setup import SetupOrder

    with reporting("setup postgres", as_json=as_json, config=config_in(config or "")) as out:
        patterns = tuple(filter(None, (part.strip() for part in tables.split(","))))
        order = SetupOrder(
            url=url,
            tables=patterns,
            role=role,
            publication=publication,
            config_file=config,
            event_triggers=event_triggers,
        )
        if uninstall and dry_run:
            raise typer.BadParameter("--dry-run shows a setup; it does not go with --uninstall")
        if uninstall:
            _remove(out, order)
        elif dry_run:
            _show_plan(out, order)
        else:
            _prepare(out, order)


def _show_plan(out: Report, order: SetupOrder) -> None:
    from headwater.app.postgres.setup import plan

    planned = plan(order)
    for step in planned["steps"]:
        out.say(f"-- {step['name']}", style="dim")
        _show_sql(out, step["sql"])
    out.done(f"{len(planned['sql'])} statements, none executed", planned)


def _prepare(out: Report, order: SetupOrder) -> None:
    from headwater.app.postgres.setup import prepare

    outcome = prepare(order)
    for step in outcome["steps"]:
        if not step["refused"]:
            out.mark("ok", step["name"])
            continue
        out.mark("error" if step["needed"] else "warning", f"{step['name']}: {step['refused']}")
        out.hint("run as somebody who may, or leave it out" if not step["needed"] else "run:")
        if step["needed"]:
            _show_sql(out, step["sql"])
    count = len(outcome["tables"])
    state = "is ready" if outcome["ready"] else "is not ready"
    summary = f"publication {outcome['publication']} of {count} tables {state}"
    out.mark("ok" if outcome["ready"] else "error", summary)
    out.done(summary, outcome, ok=outcome["ready"])


def _remove(out: Report, order: SetupOrder) -> None:
    from headwater.app.postgres.setup import remove

    outcome = remove(order)
    gone = outcome["publication"]
    summary = f"removed publication {gone}" if gone else "there was no publication"
    out.mark("ok", f"{summary}; the schema headwater is gone")
    for slot in outcome["slots"]:
        out.mark("warning", f"slot {slot} still keeps the server's log")
        out.hint(f"headwater slots drop URL {slot}")
    out.done(summary, outcome)


def _show_sql(out: Report, statements: list[str]) -> None:
    for sql in statements:
        for line in f"{sql.rstrip(';')};".splitlines():
            out.say(line)
