"""`headwater schema …`: the shapes of tables that a log knows, and the definitions of formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting

schema_app = typer.Typer(help="Shapes of tables, definitions of formats.", rich_markup_mode=None)

Key = Annotated[bool, typer.Option("--key", help="That of the keys, not of the events.")]
Messages = Annotated[
    bool, typer.Option("--messages", help="That of logical messages, which have one more op.")
]
Version = Annotated[
    int | None, typer.Option("--at", metavar="VERSION", min=1, help="Default: the newest.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    schema_app.command(
        "show",
        epilog=example(
            "headwater schema show shop.hwlog",
            "headwater schema show shop.hwlog 'public.order*' --at 1",
        ),
    )(show)
    schema_app.command("json-schema", epilog=example("headwater schema json-schema cdc-format"))(
        json_schema
    )
    schema_app.command("proto", epilog=example("headwater schema proto opencdc-protobuf"))(proto)
    schema_app.command(
        "avsc",
        epilog=example(
            "headwater schema avsc", "headwater schema avsc --log shop.hwlog --table orders"
        ),
    )(avsc)
    app.add_typer(schema_app, name="schema")


def show(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log file.")],
    table: Annotated[str, typer.Argument(metavar="[TABLE]", help="A name or a glob.")] = "*",
    at: Version = None,
    as_json: Json = False,
) -> None:
    """Show the columns, types and keys of the tables in a log."""
    from headwater.app.tableschemas import table_versions

    with reporting("schema show", as_json=as_json) as out:
        tables = [each.to_dict() for each in table_versions(log, table, at=at)]
        for place, each in enumerate(tables):
            if place:
                out.say()
            _show_table(out, each)
        out.done(f"{len(tables)} tables", {"tables": tables})


def json_schema(
    name: Annotated[
        str, typer.Argument(metavar="[FORMAT]", help="A JSON format.")
    ] = "headwater-json",
    messages: Messages = False,
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of a format."""
    from headwater.app import definitions

    _print(
        "json-schema",
        name,
        lambda: definitions.json_schema(name, messages=messages),
        as_json=as_json,
    )


def proto(
    name: Annotated[
        str, typer.Argument(metavar="[FORMAT]", help="A Protobuf format.")
    ] = "headwater-protobuf",
    key: Key = False,
    as_json: Json = False,
) -> None:
    """Print the Protobuf file of a format."""
    from headwater.app import definitions

    _print("proto", name, lambda: definitions.proto(name, key=key), as_json=as_json)


def avsc(
    log: Annotated[
        Path | None, typer.Option(metavar="LOG", help="The log that knows the table.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The table of typed rows.")
    ] = None,
    at: Version = None,
    key: Key = False,
    messages: Messages = False,
    as_json: Json = False,
) -> None:
    """Print the Avro schema of the envelope, or of a table's rows."""
    from headwater.app import definitions

    if (log is None) != (table is None):
        raise typer.BadParameter("--log and --table belong together")
    if messages and (key or table is not None):
        raise typer.BadParameter("--messages is of the envelope, without --key and --table")
    if log is None or table is None:
        name = "headwater-avro"
        _print(
            "avsc",
            name,
            lambda: definitions.avsc(name, key=key, messages=messages),
            as_json=as_json,
        )
        return
    found = (log, table)
    _print(
        "avsc",
        f"headwater-avro-typed of {table}",
        lambda: definitions.table_avsc(*found, at=at, key=key),
        as_json=as_json,
    )


def _print(command: str, name: str, definition: Callable[[], str], *, as_json: bool) -> None:
    with reporting(f"schema {command}", as_json=as_json) as out:
        text = definition()
        if not as_json:
            # As it is: this output is the input of other tools.
            out.stream.write(f"{text}\n")
        out.done(f"the {command} of {name}", {"of": name, "definition": text})


def _show_table(out: Report, table: dict[str, Any]) -> None:
    version = f"version {table['version']} of {table['versions']}"
    since = f"since event {table['first_sequence']:,}, id {table['schema_id']}"
    head = f"{table['name']}  {version}, {since}"
    out.say(head, style="bold")
    rows = [
        (
            column["name"],
            column["type"],
            column["declared"],
            "yes" if column["nullable"] else "no",
            _role(table, column),
        )
        for column in table["columns"]
    ]
    out.say(grid(("COLUMN", "TYPE", "DECLARED", "NULL", ""), rows))
    for key in table["foreign_keys"]:
        goal = ".".join(filter(None, (key["schema"], key["table"])))
        names, theirs = ", ".join(key["columns"]), ", ".join(key["referenced_columns"])
        out.say(f"({names}) refers to {goal} ({theirs}), on delete {key['on_delete'].lower()}")


def _role(table: dict[str, Any], column: dict[str, Any]) -> str:
    names = table["primary_key"]
    key = f"key {names.index(column['name']) + 1}" if column["name"] in names else ""
    role = "key" if key and len(names) == 1 else key
    return ", ".join(filter(None, (role, "generated" if column["generated"] else "")))
