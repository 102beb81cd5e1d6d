"""A bar for each table whose rows are being read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headwater.cli.output import Report

Facts = dict[str, Any]


@contextmanager
def bars(out: Report) -> Iterator[Callable[[Sequence[Facts]], None]]:
    """Something that shows tables; it shows nothing where lines cannot be redrawn."""
    if not out.live:
        yield lambda _tables: None
        return
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=out.console, transient=True) as progress:

        def show(tables: Sequence[Facts]) -> None:
            for each in tables:
                name = each["table"]
                if name not in tasks:
                    tasks[name] = progress.add_task(name, rate="", left="")
                progress.update(
                    tasks[name],
                    total=each["rows_total"],
                    completed=each["rows_done"],
                    rate=rate(each),
                    left=time_left(each),
                )

        yield show


def rate(facts: Facts) -> str:
    """Rows per second, if they are known."""
    return "" if facts["rate"] is None else f"{facts['rate']:,.0f}/s"


def time_left(facts: Facts) -> str:
    """How long the rest takes, if that can be told."""
    if facts["eta_s"] is None:
        return ""
    minutes, seconds = divmod(round(facts["eta_s"]), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


@contextmanager
def byte_bar(out: Report, total: int | None) -> Iterator[Callable[[int], None]]:
    """Something that shows how many bytes of a file are behind; silent as `bars` is."""
    if not out.live:
        yield lambda _done: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out.console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.update(task, completed=done)
