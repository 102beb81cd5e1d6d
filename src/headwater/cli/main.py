"""The command line's door: the command tree, and the last place where an error can arrive.

Start-up is kept short: command modules import only Typer and the standard library at the top, and
what a command needs is imported inside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from headwater.cli import (
    about,
    backfill,
    checkpoint,
    convert,
    demo,
    doctor,
    log,
    run,
    schema,
    settings,
    setup,
    slots,
    spark,
    status,
    tail,
    testkit,
    verify,
)
from headwater.cli.doors import Doors
from headwater.cli.output import debugging, envelope, glyph, print_json
from headwater.cli.text import printable

app = typer.Typer(
    name="headwater",
    help="Change data capture for Python and Spark: every committed row change, in order.",
    epilog="Start here: headwater demo",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for room in (
    *(demo, settings, setup, run, tail, status, doctor, verify, log, backfill, slots, spark),
    *(convert, schema, checkpoint, testkit, about),
):
    room.register(app)


def main(arguments: Sequence[str] | None = None, doors: Doors | None = None) -> int:
    """Run one command; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    try:
        outcome = command.main(
            words, prog_name="headwater", standalone_mode=False, obj=doors or Doors()
        )
    except typer.Abort:
        return 130
    except typer.TyperException as exc:
        return _usage(words, exc)
    except BrokenPipeError:
        # The reader of our output went away (| head); there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except Exception as exc:
        if debugging():
            raise
        return _unexpected(words, exc)
    return outcome if isinstance(outcome, int) else 0


def _usage(words: Sequence[str], error: typer.TyperException) -> int:
    """Wrong arguments: exit code 2, as for a wrong configuration."""
    message = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "headwater"
    hint = f"{path} --help"
    if "--json" in words:
        shown = {"code": "usage", "message": message, "where": path, "hint": hint}
        print_json(envelope(path, ok=False, summary=message, error=shown))
        return 2
    _lines(f"{glyph('error', sys.stderr)} usage  {path}", message, hint)
    return 2


def _unexpected(words: Sequence[str], error: Exception) -> int:
    """A mistake of ours: say what it was, and how to get the traceback for the report."""
    message = f"{type(error).__name__}: {error}"
    hint = "run again with HEADWATER_DEBUG=1 to see where it happened, and report it"
    if "--json" in words:
        shown = {"code": "internal", "message": message, "where": "", "hint": hint}
        print_json(envelope("headwater", ok=False, summary=message, error=shown))
        return 1
    _lines(f"{glyph('error', sys.stderr)} internal", message, hint)
    return 1


def _lines(head: str, message: str, hint: str) -> None:
    sys.stderr.write(f"{head}\n")
    for line in message.splitlines():
        sys.stderr.write(f"  {printable(line)}\n")
    sys.stderr.write(f"  {glyph('hint', sys.stderr)} {printable(hint)}\n")
