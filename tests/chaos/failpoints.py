"""Every failpoint that the code names, found in the code itself: a new one is tested at once."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path

import headwater

FULL = os.environ.get("HEADWATER_CHAOS") == "full"
_ROOT = Path(headwater.__file__).parent


def failpoints(*rooms: str) -> list[str]:
    """The names in these rooms."""
    names = set()
    for room in rooms:
        for path in (_ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and _is_failpoint(node.func):
                    names |= _strings(node)
    return sorted(names)


def with_seeds(names: Sequence[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
    """Each name with every seed; by default, because CI's time is short, with one, in turn."""
    if FULL:
        return [(name, seed) for name in names for seed in seeds]
    return [(name, seeds[number % len(seeds)]) for number, name in enumerate(names)]


def _is_failpoint(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "failpoint"


def _strings(call: ast.Call) -> set[str]:
    constants = (node for node in ast.walk(call) if isinstance(node, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}
