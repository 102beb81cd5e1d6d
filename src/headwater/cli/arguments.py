"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

ConfigFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The configuration file of the pipeline.")
]


_T = TypeVar("_T")


def _parsed(parse: Callable[[str], _T], text: str) -> _T:
    try:
        return parse(text)
    except ValueError as exc:
        raise typer.BadParameter(str(exc)) from exc


def duration(text: str | None) -> int | None:
    """Milliseconds of `7d`."""
    from headwater.app.config import Duration

    return None if text is None else _parsed(Duration.parse, text).ms


def size(text: str | None) -> int | None:
    """Bytes of `10GB`."""
    from headwater.app.config import Size

    return None if text is None else _parsed(Size.parse, text).bytes
