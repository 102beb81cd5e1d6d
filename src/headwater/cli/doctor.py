"""`headwater doctor`: is everything ready."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, reporting


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("doctor", epilog=example("headwater doctor shop.yaml"))(doctor)


def doctor(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Also check what this file names.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the machine, and a pipeline if one is named.

    Exit code 3: the machine is not ready; 2: the configuration is wrong; warnings do not count.
    """
    from headwater.app.doctor import diagnose
    from headwater.app.finding import worst

    with reporting("doctor", as_json=as_json, config=file) as out:
        findings = diagnose(file)
        width = max(len(finding.check) for finding in findings)
        for finding in findings:
            code = f"  [{finding.code}]" if finding.code else ""
            out.mark(finding.severity, f"{finding.check:<{width}}  {finding.evidence}{code}")
            if finding.fix and finding.severity != "info":
                out.hint(finding.fix)
        exit_code = worst(findings)
        count = dict.fromkeys(("ok", "info", "warning", "error"), 0)
        for finding in findings:
            count[finding.severity] += 1
        summary = f"{count['error']} errors, {count['warning']} warnings, {count['ok']} ok"
        out.say(summary, style="bold")
        result = [finding.as_dict() for finding in findings]
        out.done(summary, {"findings": result}, ok=exit_code == 0, exit_code=exit_code)
