"""Names that Avro allows: letters, digits and underscores, not a digit first."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


def legal(name: str) -> str:
    """The name with an underscore for everything that Avro does not allow."""
    plain = _ILLEGAL.sub("_", name)
    return f"_{plain}" if not plain or plain[0].isdigit() else plain


def legal_names(names: Iterable[str]) -> list[str]:
    """Legal names in the same order; two that would become one are told apart by a number.

    A name that is legal as it stands keeps itself, whatever stands before it.
    """
    given = list(names)
    taken = {name for name in given if legal(name) == name}
    found = []
    for name in given:
        plain = legal(name)
        if plain != name:
            base, number = plain, 2
            while plain in taken:
                plain, number = f"{base}_{number}", number + 1
            taken.add(plain)
        found.append(plain)
    return found
