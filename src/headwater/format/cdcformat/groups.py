"""Columns worked out group by group, and put together again in the order of the events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.format.cdcformat.members import Places


def groups(*codes: Places) -> Iterator[tuple[tuple[int, ...], Places]]:
    """The distinct combinations of these codes, and the places where each stands."""
    total = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        # Dense after every step, so that no number of combinations can overflow.
        _, total = np.unique(total * (int(code.max(initial=0)) + 2) + code, return_inverse=True)
    if not len(total):
        return
    if not total.any():
        yield tuple(int(code[0]) for code in codes), np.arange(len(total))
        return
    order = np.argsort(total, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(total[order])) + 1):
        yield tuple(int(code[places[0]]) for code in codes), places


@dataclass(frozen=True, slots=True)
class Assembly:
    """A column in the making: pieces, and the events that each is for."""

    count: int
    kind: Any
    _pieces: list[pa.Array] = field(default_factory=list)
    _places: list[Places] = field(default_factory=list)

    def put(self, places: Places, piece: pa.Array | pa.Scalar) -> None:
        """The piece stands at these places; a scalar at each of them."""
        if isinstance(piece, pa.Scalar):
            piece = pa.repeat(piece, len(places))
        self._pieces.append(piece)
        self._places.append(places)

    def column(self) -> pa.Array:
        """The whole column, null where nothing was put."""
        if len(self._pieces) == 1 and len(self._places[0]) == self.count:
            return self._pieces[0]
        if not self._pieces:
            return pa.nulls(self.count, self.kind)
        source = np.full(self.count, -1, np.int64)
        source[np.concatenate(self._places)] = np.arange(sum(map(len, self._places)))
        return pc.take(pa.concat_arrays(self._pieces), pa.array(source, mask=source < 0))
