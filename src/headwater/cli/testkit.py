"""`headwater testkit …`: tools for tests, on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.doors import Doors
from headwater.cli.example import example
from headwater.cli.output import Json, Report, reporting
from headwater.cli.text import shortened

_VALUE_WIDTH = 160

testkit_app = typer.Typer(help="Tools for tests.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    testkit_app.command(
        "replay",
        epilog=example(
            "headwater testkit replay orders.fixture.json --update",
            "headwater testkit replay orders.fixture.json",
        ),
    )(replay)
    testkit_app.callback()(_group)
    app.add_typer(testkit_app, name="testkit")


def _group() -> None:
    """Tools for tests."""


def replay(
    context: typer.Context,
    fixture: Annotated[Path, typer.Argument(help="Recorded messages of a source.")],
    golden: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The events to expect; default: beside FIXTURE."),
    ] = None,
    update: Annotated[bool, typer.Option(help="Write the golden file.")] = False,
    as_json: Json = False,
) -> None:
    """Replay recorded messages and compare with a golden file.

    The same events come of a recording every time. Without a golden file they are printed, one on
    each line. The exit code is 1 when something differs.
    """
    from headwater.errors import StateError

    with reporting("testkit replay", as_json=as_json) as out:
        doors: Doors = context.obj
        if doors.replay is None:
            raise StateError("testkit-missing", "the test kit was not handed in")
        facts = doors.replay(fixture, golden, update=update)
        _show(out, facts)
        out.done(_summary(facts), facts, ok=not facts["differences"])


def _show(out: Report, facts: dict[str, Any]) -> None:
    if facts["golden"] is None:
        for event in facts["events"]:
            out.say(json.dumps(event, ensure_ascii=False))
    last = None
    for each in facts["differences"]:
        if each["event"] != last:
            last = each["event"]
            out.mark("error", f"event {last}{_what(facts['events'], last)}")
        path = each["path"] or "the event"
        out.say(f"    {path}")
        out.say(f"      \N{MINUS SIGN} {_text(each['golden'])}", style="red")
        out.say(f"      + {_text(each['replayed'])}", style="green")
    if facts["unfinished"]:
        out.mark("warning", facts["unfinished"])
    out.mark("error" if facts["differences"] else "ok", _summary(facts))
    if facts["differences"]:
        out.hint(f"if this is meant: headwater testkit replay {facts['fixture']} --update")


def _what(events: list[dict[str, Any]], index: int) -> str:
    if index >= len(events):
        return ""
    event = events[index]
    return f": {event['op']} of {event['table']}, {event['source']['offset']}"


def _text(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), _VALUE_WIDTH)


def _summary(facts: dict[str, Any]) -> str:
    events = f"{len(facts['events'])} events of {facts['id']}"
    if facts["golden"] is None:
        return f"{events}; no golden file"
    if facts["updated"]:
        return f"{events} written to {facts['golden']}"
    count = len({each["event"] for each in facts["differences"]})
    return f"{events}: {count} differ" if count else f"{events} are as in {facts['golden']}"
