"""What every command says: lines for people, or one JSON envelope for programs, and an exit code.

Envelope: `{command, ok, summary, result, error}`. Exit codes: 0 done, 1 it failed while running,
2 the configuration or the arguments are wrong, 3 the machine is not ready. Colour, live lines and
spinners appear only on a terminal, and `NO_COLOR` is obeyed; errors never show a traceback unless
HEADWATER_DEBUG=1 asks for it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from headwater.cli.paste import with_config
from headwater.cli.text import printable
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON envelope instead of text.")]

# Nothing is wrapped in a pipe: a line there is one record.
_PIPE_WIDTH = 1000
_UNICODE = {"ok": "✓", "error": "✗", "warning": "!", "info": "·", "hint": "→"}
_ASCII = {"ok": "ok", "error": "x", "warning": "!", "info": "-", "hint": "->"}
_STYLES = {"ok": "green", "error": "bold red", "warning": "yellow", "info": "dim"}


def debugging() -> bool:
    """Whether tracebacks were asked for."""
    return os.environ.get("HEADWATER_DEBUG") == "1"


def is_live(stream: TextIO) -> bool:
    """Whether lines may be redrawn: a real terminal that knows how."""
    return stream.isatty() and os.environ.get("TERM", "") not in {"dumb", ""}


def console(stream: TextIO) -> Console:
    """A Rich console that obeys NO_COLOR and pipes, and highlights nothing by itself."""
    from rich.console import Console

    return Console(
        file=stream,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not is_live(stream),
        no_color=True if os.environ.get("NO_COLOR") else None,
        force_terminal=is_live(stream),
        width=None if is_live(stream) else _PIPE_WIDTH,
    )


def glyph(name: str, stream: TextIO) -> str:
    """A mark that the stream can encode."""
    encoding = (stream.encoding or "ascii").lower().replace("-", "")
    return (_UNICODE if encoding.startswith("utf8") else _ASCII)[name]


class Report:
    """One command's outcome. In JSON mode nothing but the envelope reaches stdout.

    `config` is the configuration that hints are about.
    """

    def __init__(self, command: str, *, as_json: bool, config: Path | None = None) -> None:
        self.command = command
        self.as_json = as_json
        self.config = config
        # Kept from the start: a live display puts a proxy in its place that knows no encoding.
        self.stream: TextIO = sys.stdout
        self._console: Console | None = None
        self._envelope: dict[str, Any] | None = None
        self._exit_code = 0

    @property
    def console(self) -> Console:
        """Where text for people goes."""
        if self._console is None:
            self._console = console(self.stream)
        return self._console

    @property
    def live(self) -> bool:
        """Whether a live display is welcome."""
        return not self.as_json and is_live(self.stream)

    def say(self, text: str | Text | Table = "", style: str | None = None) -> None:
        """A line for people; silent in JSON mode. Plain text is made printable."""
        if self.as_json:
            return
        shown = printable(text) if isinstance(text, str) else text
        if self.live:
            self.console.print(shown, style=style)
            return
        with self.console.capture() as captured:
            self.console.print(shown, style=style)
        lines = captured.get().removesuffix("\n").split("\n")
        self.stream.write("\n".join(line.rstrip() for line in lines) + "\n")
        self.stream.flush()

    def mark(self, severity: str, text: str) -> None:
        """A line that begins with a glyph."""
        if self.as_json:
            return
        from rich.text import Text

        line = Text()
        line.append(f"{glyph(severity, self.stream)} ", style=_STYLES[severity])
        line.append(printable(text))
        self.say(line)

    def hint(self, text: str) -> None:
        """What to do next, below the line it belongs to."""
        self.say(f"  {glyph('hint', self.stream)} {with_config(text, self.config)}", style="cyan")

    def done(
        self, summary: str, result: Any, *, ok: bool = True, exit_code: int | None = None
    ) -> None:
        """The outcome. `result` holds plain JSON values."""
        self._exit_code = (0 if ok else 1) if exit_code is None else exit_code
        self._envelope = envelope(self.command, ok=ok, summary=summary, result=result)

    def close(self) -> int:
        """Print the envelope if it was asked for; the exit code."""
        if self._envelope is None:
            self.done("done", None)
        if self.as_json:
            print_json(self._envelope)
        return self._exit_code


def envelope(
    command: str,
    *,
    ok: bool,
    summary: str,
    result: Any = None,
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The one shape of every `--json` answer."""
    return {"command": command, "ok": ok, "summary": summary, "result": result, "error": error}


def print_json(value: Any) -> None:
    """ASCII JSON: row data cannot carry anything to the terminal in it."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")
    sys.stdout.flush()


@contextmanager
def reporting(command: str, *, as_json: bool, config: Path | None = None) -> Iterator[Report]:
    """Run a command's body; its errors become coded lines or the envelope's error.

    Where the body and its errors say FILE in a hint, the path of `config` is shown.
    """
    report = Report(command, as_json=as_json, config=config)
    try:
        yield report
    except HeadwaterError as exc:
        if debugging():
            traceback.print_exc()
        show_error(report, exc)
        raise typer.Exit(exc.exit_code) from exc
    code = report.close()
    if code:
        raise typer.Exit(code)


def show_error(report: Report, error: HeadwaterError) -> None:
    """Print an error in the form that was asked for."""
    shown: dict[str, Any] = dict(error.as_dict())
    findings: list[dict[str, Any]] = [
        problem.as_dict() for problem in getattr(error, "problems", ())
    ]
    for each, name in ((shown, "hint"), *((finding, "suggestion") for finding in findings)):
        each[name] = with_config(each[name], report.config)
    if report.as_json:
        if findings:
            shown["findings"] = findings
        print_json(envelope(report.command, ok=False, summary=error.message, error=shown))
        return
    if findings:
        for finding in findings:
            where = f"{finding['file']}:{finding['line']}"
            path = f"{finding['configPath']}: " if finding["configPath"] else ""
            _print_error(finding["code"], where, path + finding["message"], finding["suggestion"])
        return
    _print_error(error.code, error.where, error.message, shown["hint"])


def _print_error(code: str, where: str, message: str, hint: str) -> None:
    from rich.text import Text

    stream = sys.stderr
    out = console(stream)
    head = Text(f"{glyph('error', stream)} {code}", style="bold red")
    if where:
        head.append(f"  {printable(where)}", style="dim")
    out.print(head)
    for line in message.splitlines() or [""]:
        out.print(f"  {printable(line.strip())}")
    if hint:
        out.print(f"  {glyph('hint', stream)} {printable(hint)}", style="cyan")


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> Any:
    """A borderless table that reads well at 80 columns and in a pipe."""
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
        show_header=any(columns),
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in numeric else "left")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    return table
