"""Every failpoint that the code names, found in the code itself: a new one is tested at once."""

from __future__ import annotations

import ast
from pathlib import Path

import headwater

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


def _is_failpoint(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "failpoint"


def _strings(call: ast.Call) -> set[str]:
    constants = (node for node in ast.walk(call) if isinstance(node, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}
