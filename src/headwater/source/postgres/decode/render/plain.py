"""Numbers, truth values, JSON and bytes: types whose text is their literal, or nearly so."""

from __future__ import annotations

import binascii

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.source.postgres.decode.render.text import quoted, unreadable, utf8
from headwater.source.postgres.decode.spans import content, places, rebuilt

_SPACE = 0x20
_TO_THE_END = 2**31 - 1  # what no value is longer than
_PADDING = pa.array([b"", b"0000", b"00"])  # by how many bytes go beyond a multiple of three


_FLOAT = np.zeros(256, dtype=np.bool_)
_FLOAT[np.frombuffer(b"0123456789-+.e", dtype=np.uint8)] = True


def integers(values: pa.Array) -> pa.Array:
    """Integers are their own literal."""
    literals = utf8(values)
    _check(literals, pa.int64(), "integer")
    return literals


def floats(values: pa.Array) -> pa.Array:
    """Floats are their own literal, save those that JSON lacks: they are strings.

    Minus zero gets a fraction: without one, readers take it for the integer, which has no sign.
    """
    literals = utf8(values)
    _check(literals, pa.float64(), "float")
    minus_zero = pc.equal(literals, "-0")
    if pc.any(minus_zero, min_count=0).as_py():
        literals = pc.if_else(minus_zero, "-0.0", literals)
    if _FLOAT[content(literals)].all():
        return literals
    lacking = pc.match_substring_regex(literals, "[a-df-zA-Z]")
    return pc.if_else(lacking, quoted(literals), literals)


def _check(literals: pa.Array, kind: pa.DataType, what: str) -> None:
    # Read only to know that these are numbers: any other text would spoil its whole row.
    try:
        literals.cast(kind)
    except pa.ArrowInvalid as exc:
        raise unreadable(what) from exc


def booleans(values: pa.Array) -> pa.Array:
    """`t` and `f`."""
    literals = utf8(values)
    true = pc.equal(literals, "t")
    if not pc.all(pc.or_(true, pc.equal(literals, "f")), min_count=0).as_py():
        raise unreadable("boolean")
    return pc.if_else(true, "true", "false")


def json_values(values: pa.Array) -> pa.Array:
    """JSON is its own literal, on one line.

    Inside a JSON string control characters are always escaped, so those that stand here raw are
    white space between tokens.
    """
    literals = utf8(values)
    data = content(literals)
    breaks = data < _SPACE
    if not breaks.any():
        return literals
    offsets = places(literals)
    return rebuilt(literals, offsets - offsets[0], np.where(breaks, np.uint8(_SPACE), data))


def binaries(values: pa.Array) -> pa.Array:
    r"""`\xdeadbeef` as base64.

    All values are converted by one call: each is filled up to a multiple of three bytes, so that
    its base64 is a slice of the whole, and what the filling printed becomes padding again.
    """
    values = values.cast(pa.binary())
    digits = pc.binary_slice(values, 2, _TO_THE_END)
    lengths = np.diff(places(digits))
    if (lengths % 2).any() or not pc.all(pc.starts_with(values, b"\\x"), min_count=0).as_py():
        raise unreadable("bytea in hex form")
    beyond = lengths // 2 % 3
    filled = pc.binary_join_element_wise(digits, _PADDING.take(pa.array(beyond)), b"")
    data = np.frombuffer(_base64(content(filled)), dtype=np.uint8).copy()
    # Three bytes are six digits here and four characters there.
    ends = np.cumsum(np.diff(places(filled)) // 6 * 4)
    data[ends[beyond != 0] - 1] = ord("=")
    data[ends[beyond == 1] - 2] = ord("=")
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    return quoted(rebuilt(values, offsets, data))


def _base64(digits: npt.NDArray[np.uint8]) -> bytes:
    try:
        return binascii.b2a_base64(binascii.unhexlify(digits.data), newline=False)
    except binascii.Error as exc:
        raise unreadable("bytea in hex form") from exc
