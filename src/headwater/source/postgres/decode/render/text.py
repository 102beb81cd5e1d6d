"""Text as JSON strings, character for character as `json.dumps(…, ensure_ascii=False)` writes it.

Most columns hold nothing that needs an escape, and one pass over the bytes tells. Otherwise each
character that occurs is replaced in the whole column at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.source.postgres.decode.spans import content

Renderer = Callable[[pa.Array], pa.Array]

_BACKSLASH = "\\"


def utf8(values: pa.Array) -> pa.Array:
    """The values as a string array; refused if they are not UTF-8."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid as exc:
        # Arrow's own message would repeat the value.
        raise unreadable("UTF-8") from exc


def unreadable(what: str) -> DataError:
    """The error of a value whose text is not what its type prints. It never shows the value."""
    return DataError("event-invalid", f"the server sent a value that is no {what}")


def quoted(values: pa.Array) -> pa.Array:
    """Strings that need no escape, in quotes."""
    return pc.binary_join_element_wise('"', values, '"', "")


def text(values: pa.Array) -> pa.Array:
    """Any text as JSON strings."""
    return quoted(_escaped(utf8(values)))


def _escaped(values: pa.Array) -> pa.Array:
    data = content(values)
    special = (data < 0x20) | (data == 0x22) | (data == 0x5C)
    if not special.any():
        return values
    found = {chr(code) for code in np.unique(data[special]).tolist()}
    # The backslash goes first, or it would escape the escapes of the others.
    for char in sorted(found, key=lambda char: (char != _BACKSLASH, char)):
        values = pc.replace_substring(values, pattern=char, replacement=json.dumps(char)[1:-1])
    return values
