"""Did you mean …? One answer for settings, names of parts, tables and error codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    folded = {each.lower(): each for each in known}
    found = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
