"""Where a source stands. Opaque: only the source that made a position reads its token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.errors import DataError

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Position:
    """A resume token made of JSON primitives, so that Spark offsets and files can hold it."""

    token: Mapping[str, JsonValue]

    def encode(self) -> str:
        """Canonical JSON: the same position always gives the same text."""
        return json.dumps(self.token, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def decode(cls, text: str) -> Position:
        """Read what `encode` wrote."""
        try:
            token = json.loads(text)
        except ValueError as exc:
            raise DataError("position-invalid", f"cannot read position: {exc}") from exc
        if not isinstance(token, dict):
            raise DataError("position-invalid", "a position is a JSON object", where=text[:80])
        return cls(token)
