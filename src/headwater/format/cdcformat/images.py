"""Row images of many events at once: which columns each has, and where their values stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from headwater.event import EventBatch
from headwater.format.cdcformat.members import Flags, Members, Places, find_members
from headwater.format.jsontext import dumps, loads
from headwater.format.rows import parsed
from headwater.format.text import TEXT

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Images:
    """The images of some events: `before` and `after` are places among the images, or -1.

    Images of one layout have the same columns in the same order.
    """

    members: Members
    layout: Places
    layouts: tuple[Names, ...]
    before: Places
    after: Places

    @cached_property
    def columns(self) -> tuple[dict[str, int], ...]:
        """The place of each column, by layout."""
        return tuple({name: at for at, name in enumerate(names)} for names in self.layouts)

    def of(self, events: Places) -> Images:
        """The same for some of the events."""
        return replace(self, before=self.before[events], after=self.after[events])

    def member(self, images: Places, column: int | Places) -> Places:
        """The members at this place in these images."""
        return self.members.first[images] + column

    def values(self, images: Places, column: int) -> pa.Array:
        """The values of one column of these images, which have one layout, as they are written."""
        return self.members.values(self.member(images, column))


def read_images(batch: EventBatch, tables: Places, first: int = 0) -> Images:
    """The images of the events; `tables` tells the events' tables apart.

    Where an image is not the compact JSON that sources write, all are written anew. One that is no
    JSON object at all is a DataError; `first` is the place of the first event, for its message.
    """
    columns = [batch.column("before"), batch.column("after")]
    images = _images(columns, tables)
    if images is None:
        columns = [_compact(column, first) for column in columns]
        images = _images(columns, tables)
    assert images is not None  # noqa: S101 - what `dumps` wrote is compact
    return images


def runs(starts: Places, counts: Places) -> Places:
    """`counts[i]` places from `starts[i]` on, one run after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + counts, counts)


def _images(columns: list[pa.Array], tables: Places) -> Images | None:
    """The images, or None where one of them is not compact."""
    held = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
    texts = pa.concat_arrays([column.drop_null().cast(TEXT) for column in columns])
    members = find_members(texts)
    if members.irregular.any():
        return None
    layout, models = _layouts(members, np.concatenate([tables[has] for has in held]))
    layouts = tuple(_names(members, model) for model in models)
    if any(len(set(names)) != len(names) for names in layouts):
        return None
    before = np.where(held[0], np.cumsum(held[0]) - 1, -1)
    after = np.where(held[1], np.cumsum(held[1]) - 1 + held[0].sum(), -1)
    return Images(members, layout, layouts, before, after)


def _compact(column: pa.Array, first: int) -> pa.Array:
    rows = parsed(column, first)
    return pa.array([None if row is None else dumps(row) for row in rows], TEXT)


def _layouts(members: Members, tables: Places) -> tuple[Places, list[int]]:
    """The layout of each image, and an image of each: nearly always, one for each table."""
    counts = np.diff(members.first)
    groups = tables * (int(counts.max(initial=0)) + 1) + counts
    layout = np.zeros(len(counts), np.int64)
    models: list[int] = []
    left = np.arange(len(counts))
    while len(left):
        _, leaders, group = np.unique(groups[left], return_index=True, return_inverse=True)
        alike = _alike(members, left, left[leaders][group], counts[left])
        layout[left[alike]] = len(models) + group[alike]
        models += left[leaders].tolist()
        left = left[~alike]
    return layout, models


def _alike(members: Members, images: Places, models: Places, counts: Places) -> Flags:
    alike = np.ones(len(images), np.bool_)
    others = np.flatnonzero(images != models)
    counts = counts[others]
    same = members.same_names(
        runs(members.first[images[others]], counts), runs(members.first[models[others]], counts)
    )
    if not same.all():
        alike[np.repeat(others, counts)[~same]] = False
    return alike


def _names(members: Members, image: int) -> Names:
    found = range(members.first[image], members.first[image + 1])
    return tuple(loads(f'"{str(members.name(member), "utf-8")}"') for member in found)
