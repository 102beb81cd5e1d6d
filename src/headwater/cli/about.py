"""`headwater explain` and `headwater version`: what a code means, and what is installed."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, grid, reporting


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("explain", epilog=example("headwater explain log-corrupt"))(explain)
    app.command("version", epilog=example("headwater version --json"))(version)


def explain(
    code: Annotated[
        str | None, typer.Argument(help="An error code; without one, all codes are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell what an error code means and what to do about it."""
    from headwater.app.suggest import closest
    from headwater.errors import CATALOG, ConfigError

    with reporting("explain", as_json=as_json) as out:
        if code is None:
            rows = [(entry.code, entry.meaning) for entry in CATALOG.values()]
            out.say(grid(("CODE", "MEANING"), rows))
            out.done(f"{len(rows)} codes", [{"code": row[0], "meaning": row[1]} for row in rows])
            return
        entry = CATALOG.get(code.strip("[]"))
        if entry is None:
            near = closest(code, CATALOG)
            raise ConfigError(
                "code-unknown",
                f"there is no code {code!r}",
                hint=f"did you mean {near}?" if near else "",
            )
        out.say(entry.code, style="bold")
        out.say(f"  {entry.meaning}")
        out.hint(entry.fix)
        result = {"code": entry.code, "meaning": entry.meaning, "fix": entry.fix}
        out.done(entry.meaning, result)


def version(as_json: Json = False) -> None:
    """Show the version of Headwater and of what it stands on."""
    from headwater.app.version import versions

    with reporting("version", as_json=as_json) as out:
        facts = versions()
        out.say(f"headwater {facts['headwater']}", style="bold")
        rows = [(name, value) for name, value in facts["libraries"].items()]
        rows += [(name, ", ".join(each)) for name, each in facts["parts"].items()]
        out.say(grid(("", ""), rows))
        out.done(f"headwater {facts['headwater']}", facts)
