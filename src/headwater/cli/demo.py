"""`headwater demo`: everything once, with a proof at the end."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.example import example
from headwater.cli.output import Json, Report, reporting

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from headwater.app.demo.show import Scene

_PLAIN_SCENE_S = 5.0


class TableFormat(StrEnum):
    """What Spark writes."""

    DELTA = "delta"
    PARQUET = "parquet"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        "demo",
        epilog=example("headwater demo", "headwater demo --table-format parquet   # without jars"),
    )(demo)


def demo(
    *,
    directory: Annotated[
        Path, typer.Option(help="Where the sample database and tables go.")
    ] = Path("headwater-demo"),
    seconds: Annotated[
        float, typer.Option(min=1, max=600, help="How long the sample writer works.")
    ] = 15.0,
    table_format: Annotated[
        TableFormat, typer.Option(help="delta, or parquet, which needs no jar.")
    ] = TableFormat.DELTA,
    as_json: Json = False,
) -> None:
    """See it work: a live database, mirrored and proven equal.

    A sample shop in SQLite is written by another process, captured, applied by Spark, and compared
    row by row.
    """
    from headwater.app.demo.show import run_demo
    from headwater.app.demo.stage import DemoOptions
    from headwater.cli.verify import show_proof

    with reporting("demo", as_json=as_json) as out:
        options = DemoOptions(directory=directory, seconds=seconds, table_format=table_format.value)
        stage = DemoScreen(out)
        with stage.drawing():
            result = run_demo(options, stage)
        show_proof(out, result["proof"])
        out.say()
        out.say("What to try next", style="bold")
        width = max(len(step["command"]) for step in result["next"])
        for step in result["next"]:
            out.hint(f"{step['command']:<{width}}  {step['why']}")
        summary = (
            f"{result['transactions']:,} transactions, {result['events']:,} events,"
            f" {result['seconds']:g} s: {result['proof']['summary']}"
        )
        out.done(summary, result, ok=result["proof"]["equal"])


class DemoScreen:
    """The watcher: bars and a tail on a terminal, lines elsewhere, nothing in JSON mode."""

    def __init__(self, out: Report) -> None:
        self._out = out
        self._live: Live | None = None
        self._next_s = 0.0

    def drawing(self) -> AbstractContextManager[Any]:
        """The block within which the screen is drawn."""
        if not self._out.live:
            return nullcontext()
        from rich.live import Live

        self._live = Live(console=self._out.console, refresh_per_second=8, transient=True)
        return self._live

    def step(self, text: str) -> None:
        """A line that stays."""
        self._out.mark("ok", text)

    def proving(self, what: str) -> None:
        """The proof is under way."""
        if self._live is not None:
            self._live.update(f"\nproof    reading every row: {what}")

    def scene(self, scene: Scene) -> None:
        """Redraw, or now and then a plain line."""
        if self._out.as_json:
            return
        if self._live is not None:
            self._live.update(draw(scene))
            return
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _PLAIN_SCENE_S
            self._out.say(plain(scene))


def plain(scene: Scene) -> str:
    """The scene as one line."""
    return (
        f"  {scene.elapsed_s:4.0f} s  captured {scene.captured:,} events"
        f"  spark {scene.spark}, applied {scene.applied:,}"
    )


def draw(scene: Scene) -> Group:
    """Three bars, and the last changes below them."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from headwater.cli.changes import line

    bars = Table.grid(padding=(0, 2))
    bars.add_row("writer", _bar(scene.elapsed_s, scene.writing_s), _writer_text(scene))
    bars.add_row(
        "capture",
        _bar(scene.captured, scene.captured),
        f"{scene.captured:,} events, {scene.per_second:,.0f}/s",
    )
    bars.add_row("spark", _bar(scene.applied, scene.captured), _spark_text(scene))
    tail = [line(change) for change in scene.changes]
    for text in tail:
        text.no_wrap, text.overflow = True, "ellipsis"
    return Group(Text(), bars, Text(), *tail)


def _bar(done: float, total: float) -> Any:
    from rich.progress_bar import ProgressBar

    return ProgressBar(total=max(total, 1), completed=min(done, total), width=24)


def _writer_text(scene: Scene) -> str:
    left = max(scene.writing_s - scene.elapsed_s, 0)
    return f"{left:.0f} s left" if scene.writing else "done"


def _spark_text(scene: Scene) -> str:
    if scene.spark == "starting":
        return "the JVM is starting"
    return f"{scene.applied:,} applied, {scene.captured - scene.applied:,} to go"
