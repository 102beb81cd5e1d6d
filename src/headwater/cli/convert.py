"""`headwater convert`: records of one format to records of another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, reporting

_FRAMING = "lines, delimited, container or length; default: the format's own."


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "convert",
        epilog=example(
            "headwater convert --from debezium --to headwater-avro in.jsonl out.avro",
            "headwater convert --from headwater-avro --to opencdc out.avro -",
        ),
    )(convert)


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="The file to read; - is stdin.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; - is stdout.")],
    *,
    read_format: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="The format of the records in IN.")
    ],
    write_format: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="The format of the records in OUT.")
    ],
    in_framing: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"How records stand in IN: {_FRAMING}")
    ] = None,
    out_framing: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"How records stand in OUT: {_FRAMING}")
    ] = None,
    bad: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where bad records go; default: OUT.bad.jsonl."),
    ] = None,
    max_record: Annotated[
        str, typer.Option(metavar="SIZE", help="A longer record is bad.")
    ] = "64MB",
    schemas: Annotated[
        Path | None,
        typer.Option(metavar="LOG", help="The log that knows the tables, for typed rows."),
    ] = None,
    schema_id: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="Write typed rows of its table by this version."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first bad record.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a file of records from one format to another.

    JSON stands on lines, Avro in object container files, Protobuf behind varint lengths. Bad
    records are set aside and counted, and the exit code is then 1. OUT takes its name when it is
    complete.
    """
    from headwater.app.convert import Conversion
    from headwater.app.convert import convert as run
    from headwater.cli.arguments import size
    from headwater.cli.bars import byte_bar

    with reporting("convert", as_json=as_json) as out:
        if target == "-":
            _leave_stdout_to_the_records(out)
        asked = Conversion(
            read_format=read_format,
            write_format=write_format,
            source=None if source == "-" else Path(source),
            target=None if target == "-" else Path(target),
            aside=bad or _beside(source, target),
            read_framing=in_framing,
            write_framing=out_framing,
            max_record_bytes=size(max_record) or 0,
            strict=strict,
            schemas=schemas,
            schema_ids=tuple(schema_id or ()),
        )
        with byte_bar(out, _length(asked.source)) as progress:
            facts = run(asked, progress)
        _show(out, facts)


def _leave_stdout_to_the_records(out: Report) -> None:
    if out.as_json:
        raise typer.BadParameter("--json prints to stdout: give OUT a file name")
    out.stream = sys.stderr


def _beside(source: str, target: str) -> Path:
    named = [name for name in (target, source) if name != "-"]
    return Path(f"{named[0] if named else 'convert'}.bad.jsonl")


def _length(path: Path | None) -> int | None:
    return path.stat().st_size if path is not None and path.is_file() else None


def _show(out: Report, facts: dict[str, Any]) -> None:
    summary = f"{facts['records']:,} records from {facts['from']} to {facts['to']}"
    out.mark("ok", summary)
    if facts["bad"]:
        summary += f", {facts['bad']:,} bad"
        out.mark("error", f"{facts['bad']:,} bad records are in {facts['bad_file']}")
    out.done(summary, facts, ok=not facts["bad"])
