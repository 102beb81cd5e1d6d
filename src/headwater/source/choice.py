"""Tables that were asked for and are not there: what to say of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_SHOWN = 8


def unmatched(patterns: Sequence[str], names: Sequence[str]) -> str:
    """That no table matches, with the name that was probably meant, or else those there are."""
    close = [match for pattern in patterns for match in difflib.get_close_matches(pattern, names)]
    known = f"it has {', '.join(names[:_SHOWN]) or 'none'}"
    if close:
        known = f"did you mean {close[0]!r}?"
    return f"no table matches {', '.join(patterns)}; {known}"
