"""Names in a sentence: the first few, and how many more."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = 5


def listed(names: Iterable[object]) -> str:
    """`a, b and 3 more`."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
