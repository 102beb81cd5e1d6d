"""Ground: a value that never shows itself (INV-12).

A `Secret` prints as stars in every form that Python can print, compare or serialise it. The one way
to the value is `reveal()`, called where a connection is opened and nowhere else.
"""

from __future__ import annotations

import hmac
from typing import NoReturn
from weakref import WeakValueDictionary

MASK = "***"


class Secret:
    """A string that cannot be printed, formatted, pickled or turned into JSON by accident."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        _LIVE[id(self)] = self

    def reveal(self) -> str:
        """The value itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(
            self._value.encode(), other._value.encode()
        )

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never pickled; pass the reference it was resolved from")


# By identity: two equal secrets are two entries, so that the end of one does not hide the other.
_LIVE: WeakValueDictionary[int, Secret] = WeakValueDictionary()


def live_secrets() -> tuple[Secret, ...]:
    """Every secret that this process still holds, for whoever must keep them out of its output."""
    return tuple(_LIVE.values())
