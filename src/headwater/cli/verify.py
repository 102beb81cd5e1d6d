"""`headwater verify`: proof that the target tables equal the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.bars import bars
from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "verify",
        epilog=example(
            "headwater verify shop.yaml", "headwater verify shop.yaml --tables orders --repair"
        ),
    )(verify)


def verify(
    file: ConfigFile,
    *,
    tables: Annotated[
        str, typer.Option(help="Names or globs, separated by commas; default: every table.")
    ] = "*",
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait for the log to catch up.")
    ] = 60.0,
    repair: Annotated[
        bool, typer.Option("--repair", help="Read the differing keys again, and prove again.")
    ] = False,
    max_keys: Annotated[
        int, typer.Option(min=1, help="How many differing keys of a table to look for.")
    ] = 10_000,
    as_json: Json = False,
) -> None:
    """Compare the target tables with the source, row by row.

    Counts and 128-bit hashes of all rows at one moment, exact while writers go on. Differing keys
    are listed, and the exit code is then 1. With --repair these keys alone are read again through
    the pipeline; the exit code is 0 if the tables are equal then.
    """
    from headwater.app.proof.prove import Asked, prove

    with reporting("verify", as_json=as_json, config=file) as out:
        asked = Asked(
            tables=tuple(filter(None, (part.strip() for part in tables.split(",")))),
            timeout_s=timeout,
            max_keys=max_keys,
            repair=repair,
        )
        with _steps(out) as progress:
            proof = prove(file, asked, progress)
        if "found" in proof:
            show_proof(out, proof["found"])
            _show_repair(out, proof["repaired"])
        show_proof(out, proof)
        out.done(proof["summary"], proof, ok=proof["equal"])


@contextmanager
def _steps(out: Report) -> Iterator[Callable[[Any], None]]:
    """A bar for each side of each table."""
    with bars(out) as show:
        yield lambda step: show(
            [
                {
                    "table": str(step),
                    "rows_done": step.rows_done,
                    "rows_total": step.rows_total,
                    "rate": None,
                    "eta_s": None,
                }
            ]
        )


def show_proof(out: Report, proof: dict[str, Any]) -> None:
    """The table of counts and hashes, and the keys that differ."""
    rows = [
        (
            "equal" if each["equal"] else "DIFFERS",
            each["table"],
            f"{each['source']['rows']:,}",
            f"{each['target']['rows']:,}",
            each["source"]["hash"][:16],
            each["target"]["hash"][:16],
        )
        for each in proof["tables"]
    ]
    rows += [("undecided", each["table"], "", "", "", "") for each in proof["undecided"]]
    header = ("", "TABLE", "SOURCE", "TARGET", "SOURCE HASH", "TARGET HASH")
    out.say(grid(header, rows, (2, 3)))
    for each in proof["tables"]:
        for kind, verb in (
            ("missing", "lacks"),
            ("extra", "has too much"),
            ("different", "differs in"),
        ):
            for key in each[kind]:
                out.mark("error", f"{each['table']}: the target {verb} {_key_text(key)}")
        last = each.get("last_equal")
        if last is not None and not each["equal"]:
            out.say(f"  {each['table']} was {_last(last)}")
        hidden = each["differing"] - sum(len(each[k]) for k in ("missing", "extra", "different"))
        if hidden > 0:
            out.say(f"  … and {hidden:,} more keys of {each['table']}")
        if not each["complete"]:
            out.say(f"  more keys of {each['table']} differ: --max-keys says how many to look for")
    for each in proof["undecided"]:
        out.mark("error", f"{each['table']}: [{each['code']}] {each['message']}")
        out.hint(each["hint"])
    out.mark("ok" if proof["equal"] else "error", proof["summary"])


def _show_repair(out: Report, repaired: list[dict[str, Any]]) -> None:
    for each in repaired:
        keys = each["missing"] + each["extra"] + each["different"]
        out.mark(
            "info",
            f"{each['table']}: {keys:,} keys asked for again; {each['read']:,} rows read,"
            f" {each['absent']:,} keys without a row removed",
        )


def _last(last: dict[str, Any]) -> str:
    from headwater.cli.log import moment

    if last["sequence"] is None:
        return "never proven equal"
    return f"last proven equal at event {last['sequence']:,}, {moment(last['at_ms'])} UTC"


def _key_text(key: Any) -> str:
    if isinstance(key, dict):
        return ", ".join(f"{name}={value}" for name, value in key.items())
    return str(key)
