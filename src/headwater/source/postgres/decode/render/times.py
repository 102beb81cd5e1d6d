"""Dates and times: the server's ISO form with a `T`, six digits of fraction, and `Z` for UTC.

The session writes in UTC, so values of one length have one layout: they are checked and copied as
a matrix of characters. What has no ISO form (infinity, years before 1 or after 9999) fits no
layout and keeps the server's text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.source.postgres.decode.render.text import quoted, text, utf8
from headwater.source.postgres.decode.spans import Bytes, Flags, content, places, rebuilt

_FRACTION = 6
_TIME_WITH_ZONE = r"^(?P<time>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,6}))?(?P<zone>[+-][\d:]+)$"


@dataclass(frozen=True, slots=True)
class Layout:
    """How one type prints and how its literal looks.

    In `form` a 9 is any digit and all else stands for itself; a fraction may follow, then `zone`.
    `literal` is the JSON with zeros for digits: the text fills it from its second character on.
    """

    form: bytes
    literal: bytes
    zone: bytes = b""

    def __call__(self, values: pa.Array) -> pa.Array:
        """The JSON literals of this type's texts."""
        count, template = len(values), np.frombuffer(self.literal, dtype=np.uint8)
        offsets, data = places(values), content(values)
        starts, lengths = (offsets - offsets[0])[:-1], np.diff(offsets)
        out = np.tile(template, (count, 1))
        odd = values.is_valid().to_numpy(zero_copy_only=False).copy()
        for length in np.unique(lengths).tolist():
            form = self._form(length)
            if form is None:
                continue
            rows = np.flatnonzero(lengths == length)
            chars = data[starts[rows, None] + np.arange(length, dtype=np.int32)]
            body = length - len(self.zone)
            out[rows, 1 : body + 1] = chars[:, :body]
            odd[rows] &= _unlike(chars, form)
        fixed = np.flatnonzero(template != ord("0"))
        out[:, fixed] = template[fixed]
        ends = np.arange(count + 1, dtype=np.int32) * len(template)
        literals = rebuilt(values, ends, out.ravel())
        if odd.any():
            # Their rows hold bytes of no meaning until here.
            return pc.replace_with_mask(literals, pa.array(odd), text(values.filter(pa.array(odd))))
        return literals

    def _form(self, length: int) -> Bytes | None:
        """What texts of this length look like, or None if there are none."""
        digits = length - len(self.form) - len(self.zone) - 1
        if digits == -1:
            fraction = b""
        elif b":" in self.form and 1 <= digits <= _FRACTION:
            fraction = b"." + b"9" * digits
        else:
            return None
        return np.frombuffer(self.form + fraction + self.zone, dtype=np.uint8)


def _unlike(chars: npt.NDArray[np.uint8], form: Bytes) -> Flags | np.bool_:
    lowest = np.where(form == ord("9"), np.uint8(ord("0")), form)
    fits = (chars >= lowest) & (chars <= form)
    # Looking at each row takes longer than all the rest and is hardly ever needed.
    return np.False_ if fits.all() else ~fits.all(axis=1)


dates = Layout(b"9999-99-99", b'"0000-00-00"')
times = Layout(b"99:99:99", b'"00:00:00.000000"')
timestamps = Layout(b"9999-99-99 99:99:99", b'"0000-00-00T00:00:00.000000"')
timestamps_utc = Layout(b"9999-99-99 99:99:99", b'"0000-00-00T00:00:00.000000Z"', b"+00")


def times_with_zone(values: pa.Array) -> pa.Array:
    """A time with zone keeps the zone that it was written with, so there is no fixed layout."""
    texts = utf8(values)
    parts = pc.extract_regex(texts, _TIME_WITH_ZONE)
    time, fraction, zone = (pc.struct_field(parts, name) for name in ("time", "fraction", "zone"))
    padded = pc.utf8_rpad(fraction, _FRACTION, "0")
    whole = pc.binary_join_element_wise(time, ".", padded, zone, "")
    return pc.if_else(parts.is_null(), text(texts), quoted(whole))
