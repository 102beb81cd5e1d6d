"""`headwater verify`: proof that the target tables equal the source."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headwater.cli.arguments import ConfigFile
from headwater.cli.example import example
from headwater.cli.output import Json, Report, grid, reporting


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("verify", epilog=example("headwater verify shop.yaml"))(verify)


def verify(
    file: ConfigFile,
    *,
    tables: Annotated[
        str, typer.Option(help="Names or globs, separated by commas; default: every table.")
    ] = "*",
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait for the log to catch up.")
    ] = 60.0,
    as_json: Json = False,
) -> None:
    """Compare the target tables with the source, row by row.

    Counts and 128-bit hashes of all rows at one moment, exact while writers go on. Differing keys
    are listed, and the exit code is then 1.
    """
    from headwater.app.proof.prove import prove

    with reporting("verify", as_json=as_json) as out:
        patterns = tuple(filter(None, (part.strip() for part in tables.split(","))))
        proof = prove(file, patterns, timeout_s=timeout)
        show_proof(out, proof)
        out.done(proof["summary"], proof, ok=proof["equal"])


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
        hidden = each["differing"] - sum(len(each[k]) for k in ("missing", "extra", "different"))
        if hidden > 0:
            out.say(f"  … and {hidden:,} more keys of {each['table']}")
    out.mark("ok" if proof["equal"] else "error", proof["summary"])


def _key_text(key: Any) -> str:
    if isinstance(key, dict):
        return ", ".join(f"{name}={value}" for name, value in key.items())
    return str(key)
