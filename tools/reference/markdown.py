"""Tables and paragraphs in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """A Markdown table."""
    names = list(header)
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(_cell(value) for value in row)} |"


def _cell(value: Any) -> str:
    return unwrapped(str(value)).replace("|", "\\|").replace("\n", " ")


def unwrapped(text: str) -> str:
    """Paragraphs as single lines."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in parts)
