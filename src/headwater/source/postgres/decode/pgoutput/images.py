"""Tuples as JSON images: each captured column rendered once, then joined row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headwater.source.postgres.decode.pgoutput.relations import Version
from headwater.source.postgres.decode.pgoutput.tuples import TEXT, Tuples
from headwater.source.postgres.decode.render import (
    Renderer,
    join_available,
    join_rows,
    unavailable_lists,
)
from headwater.source.postgres.decode.spans import Places, gather


@dataclass(frozen=True, slots=True)
class Images:
    """Images of some of the tuples, by their number. `unavailable` is None if each is whole."""

    rows: Places
    json: pa.Array
    unavailable: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """The columns that images are made of: their places in the tuple, names and renderers."""

    places: tuple[int, ...]
    names: tuple[str, ...]
    renderers: tuple[Renderer, ...]


def captured(version: Version, *, key_only: bool) -> Captured:
    """The captured columns of a relation, or those of them that are its key."""
    columns = [
        (place, column.name, render)
        for place, (column, render) in enumerate(
            zip(version.relation.columns, version.shape.renderers, strict=True)
        )
        if render is not None and (column.is_key or not key_only)
    ]
    return Captured(
        tuple(place for place, _, _ in columns),
        tuple(name for _, name, _ in columns),
        tuple(render for _, _, render in columns),
    )


def images(buffer: bytes, tuples: Tuples, columns: Captured) -> Iterator[Images]:
    """The images of all tuples: first those of whole ones, then those with columns left out."""
    everyone = np.arange(len(tuples))
    if not columns.places:
        yield Images(everyone, pa.repeat(pa.scalar("{}"), len(tuples)))
        return
    fields = [tuples.fields[place] for place in columns.places]
    literals = [
        render(gather(buffer, field.start, field.end, field.kind == TEXT))
        for field, render in zip(fields, columns.renderers, strict=True)
    ]
    absent = [field.unchanged() for field in fields]
    partial = np.logical_or.reduce(absent)
    if not partial.any():
        yield Images(everyone, join_rows(columns.names, literals))
        return
    whole, rest = np.flatnonzero(~partial), np.flatnonzero(partial)
    if len(whole):
        yield Images(whole, join_rows(columns.names, [c.take(pa.array(whole)) for c in literals]))
    away = [flags[rest] for flags in absent]
    literals = [column.take(pa.array(rest)) for column in literals]
    yield Images(
        rest,
        join_available(columns.names, literals, away),
        unavailable_lists(columns.names, away),
    )
