"""The specification's own examples: comments stripped, `a|b` read as alternatives."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).with_name("cdc_format_examples.md").read_text()
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')
_FENCE = re.compile(r"^## (\S+)[^\n]*\n\n```json\n(.*?)```", re.DOTALL | re.MULTILINE)


def stripped(text: str) -> str:
    """The text without comments."""
    return _COMMENT.sub(lambda found: found[1] or "", text)


def alternatives(value: Any) -> list[Any]:
    """Every value that `a|b` in the strings stands for."""
    if isinstance(value, str):
        return list(value.split("|")) if re.fullmatch(r"[a-z_:]+(\|[a-z_:]+)+", value) else [value]
    if isinstance(value, dict):
        choices = product(*(alternatives(item) for item in value.values()))
        return [dict(zip(value, chosen, strict=True)) for chosen in choices]
    return [value]


def examples() -> dict[str, list[dict[str, Any]]]:
    """The examples by section number."""
    found = {}
    for number, text in _FENCE.findall(_PAGE):
        found[number] = alternatives(json.loads(stripped(text).replace("{ ... }", "{}")))
    return found


EXAMPLES = examples()
EVENTS = [*EXAMPLES["8.1"], *EXAMPLES["8.2"], *EXAMPLES["8.3"]]
