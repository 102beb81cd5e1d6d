"""`headwater init` and `headwater validate`: the configuration file, written and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, print_json, reporting


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "init",
        epilog=example(
            "headwater init shop.yaml --from sqlite:///shop.db",
            "headwater init shop.yaml --from $DATABASE_URL",
        ),
    )(init)
    app.command("validate", epilog=example("headwater validate shop.yaml"))(validate)


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The file to write.")] = Path(
        "headwater.yaml"
    ),
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="A database to look into for its tables."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite the file if it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a commented configuration file.

    With --from, the tables of that database are looked up and listed in it. A password never
    gets into the file: it then refers to the environment variable DATABASE_URL.
    """
    from headwater.app.starter import write_starter

    with reporting("init", as_json=as_json, config=file) as out:
        starter = write_starter(file, source, force=force)
        out.mark("ok", f"wrote {file}")
        for table in starter["tables"]:
            out.mark("info", f"{table['name']}  {table['note']}")
        for step in starter["next"]:
            out.hint(step)
        out.done(f"wrote {file}", starter)


def validate(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The configuration file.")
    ] = None,
    schema: Annotated[
        bool, typer.Option(help="Print the JSON Schema of the file, for editors.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a configuration file.

    Every problem is reported at once, with its line. Nothing that the file names is touched.
    """
    from headwater.app.config import config_schema
    from headwater.app.validate import validate_config

    with reporting("validate", as_json=as_json, config=file) as out:
        if schema:
            if not as_json:
                print_json(config_schema())
            out.done("JSON Schema of the configuration", config_schema())
            return
        if file is None:
            raise typer.BadParameter("name the file to check", param_hint="FILE")
        outcome = validate_config(file)
        for finding in outcome["findings"]:
            out.mark(finding["severity"], f"{finding['configPath']}: {finding['message']}")
            out.hint(finding["suggestion"])
        out.mark("ok", f"{file}: {outcome['summary']}")
        out.done(outcome["summary"], outcome)
