"""Row data on a terminal: visible, and unable to command it.

Names and values come from a database that others write. Escape sequences could recolour, retitle or
type into the terminal, and bidirectional marks could show another text than the one stored; both
are printed as the escapes that they are.
"""

from __future__ import annotations

import unicodedata

# Cc: C0 and C1 controls. Cf: bidi marks, zero width, tags. Cs: lone surrogates, not encodable.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """The text on one line, with everything invisible spelled out."""
    if text.isprintable():
        return text
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char.isprintable() or unicodedata.category(char) not in _HIDDEN:
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, width: int) -> str:
    """At most `width` characters; an ellipsis tells that there is more."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
