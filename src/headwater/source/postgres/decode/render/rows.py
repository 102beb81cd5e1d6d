"""Columns of JSON literals, joined to one object per row: the row images of an event."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.source.postgres.decode.spans import Flags


def join_rows(names: Sequence[str], literals: Sequence[pa.Array]) -> pa.Array:
    """The objects of these columns, at least one, in this order; a null literal is `null`."""
    parts: list[pa.Array | str] = []
    opening = "{"
    for name, column in zip(names, literals, strict=True):
        parts += [f"{opening}{_label(name)}", column]
        opening = ","
    return _joined([*parts, "}", ""], null_handling="replace")


def join_available(
    names: Sequence[str], literals: Sequence[pa.Array], absent: Sequence[Flags]
) -> pa.Array:
    """The same, where a column stays out of the rows in which it is absent."""
    # Each member with a comma before it, or nothing at all; the first comma goes at the end.
    # Arrow's own way to skip nulls drops a row in which everything is skipped.
    members = []
    for name, column, away in zip(names, literals, absent, strict=True):
        member = _joined([f",{_label(name)}", column, ""], null_handling="replace")
        members.append(pc.if_else(pa.array(away), "", member))
    body = pc.utf8_slice_codeunits(_joined([*members, ""]), 1)
    return _joined(["{", body, "}", ""])


def unavailable_lists(names: Sequence[str], absent: Sequence[Flags]) -> pa.Array:
    """For each row the names of its absent columns; null where none is absent."""
    matrix = np.array(absent, dtype=np.bool_).T
    counts = matrix.sum(axis=1)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    listed = pa.array(list(names), pa.string()).take(pa.array(np.nonzero(matrix)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), listed, mask=pa.array(counts == 0))


def _label(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) + ":"


def _joined(parts: Sequence[pa.Array | str], null_handling: str = "emit_null") -> pa.Array:
    try:
        return pc.binary_join_element_wise(
            *parts, null_handling=null_handling, null_replacement="null"
        )
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as exc:
        raise DataError(
            "event-invalid", "the images of these rows pass 2 GiB", hint="leave the column out"
        ) from exc
