"""Every command and its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tools.reference.markdown import table, unwrapped


def cli() -> Iterator[str]:
    import typer

    from headwater.cli.main import app

    yield "# Command line"
    yield ""
    yield "Every command takes `--json` and then prints one envelope:"
    yield "`{command, ok, summary, result, error}`."
    yield ""
    yield from table(
        ("exit code", "meaning"),
        (
            ("0", "done"),
            ("1", "it failed while running, or found what it looks for (`verify`, `log check`)"),
            ("2", "the configuration or the arguments are wrong"),
            ("3", "the machine is not ready"),
        ),
    )
    yield ""
    yield "Colour and live lines appear on a terminal only; `NO_COLOR=1` switches colour off."
    yield "`HEADWATER_DEBUG=1` shows the traceback of an unexpected error."
    yield from _command(typer.main.get_command(app), "headwater", None)


def _command(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=path, parent=parent)
    children: Mapping[str, Any] = getattr(command, "commands", {})
    if children:
        for name, child in children.items():
            yield from _command(child, f"{path} {name}", context)
        return
    yield from ("", f"## {path}", "")
    yield unwrapped((command.help or "").replace("\b", ""))
    yield from ("", "```text", " ".join([path, *_pieces(command)]), "```", "")
    records = [each.get_help_record(context) for each in command.params]
    shown = [record for record in records if record is not None]
    yield from table(("argument or option", "meaning"), ((f"`{a}`", b) for a, b in shown))
    if command.epilog:
        example = command.epilog.replace("\b", "").strip().removeprefix("Example:")
        lines = [line.strip() for line in example.strip().splitlines()]
        yield from ("", "```console", *lines, "```")


def _pieces(command: Any) -> Iterator[str]:
    """Optional arguments stand in brackets, whatever their metavar says."""
    for each in command.params:
        if each.param_type_name != "argument":
            continue
        name = each.metavar or each.name.upper()
        yield name if each.required else f"[{name.strip('[]')}]"
    yield "[OPTIONS]"
