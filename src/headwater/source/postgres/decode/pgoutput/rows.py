"""Inserts, updates and deletes: found, grouped by relation, and put back in message order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.event import Operation
from headwater.source.postgres.decode.pgoutput.blocks import Blocks
from headwater.source.postgres.decode.pgoutput.images import Images, captured, images
from headwater.source.postgres.decode.pgoutput.relations import Version, Versions
from headwater.source.postgres.decode.pgoutput.tuples import fill_unchanged, read_tuples
from headwater.source.postgres.decode.pgoutput.wire import Wire
from headwater.source.postgres.decode.spans import Flags, Places

_INSERT, _UPDATE, _DELETE = b"IUD"
_NEW, _KEY, _OLD = b"NKO"
_OPERATIONS = np.zeros(256, dtype=np.int8)
_OPERATIONS[_INSERT] = Operation.INSERT
_OPERATIONS[_UPDATE] = Operation.UPDATE
_OPERATIONS[_DELETE] = Operation.DELETE


@dataclass(frozen=True, slots=True)
class Rows:
    """Row changes in message order.

    `relation` counts in `Decoded.relations`. Images are JSON text. The lists of columns that an
    image lacks are null where it lacks none, and None where no image of the buffer lacks any.
    `xid` is the (sub)transaction of rows in streamed blocks, 0 for others, None if all are others.
    """

    message: Places
    op: npt.NDArray[np.int8]
    relation: npt.NDArray[np.int32]
    before: pa.Array
    after: pa.Array
    before_is_key_only: Flags
    unavailable: pa.Array | None
    before_unavailable: pa.Array | None
    xid: Places | None


def read_rows(wire: Wire, blocks: Blocks, versions: Versions) -> Rows:
    """All row changes of a buffer."""
    tags = wire.tags
    message = np.flatnonzero(_OPERATIONS[tags] != 0)
    wire.require(message, blocks.body[message], 5)
    oids = wire.u32(blocks.body[message])
    relation = np.zeros(len(message), dtype=np.int32)
    before, after = _Column(), _Column()
    key_only = np.zeros(len(message), dtype=np.bool_)
    for rows, number in _groups(message, oids, versions):
        relation[rows] = number
        numbers = message[rows]
        changes = _Changes(wire, numbers, blocks.body[numbers], versions.used[number])
        for made in changes.after():
            after.add(rows[made.rows], made)
        for made, keys in changes.before():
            before.add(rows[made.rows], made)
            key_only[rows[made.rows]] = keys
    xid = blocks.xid[message]
    return Rows(
        message=message,
        op=_OPERATIONS[tags[message]],
        relation=relation,
        before=before.json(len(message)),
        after=after.json(len(message)),
        before_is_key_only=key_only,
        unavailable=after.unavailable(len(message)),
        before_unavailable=before.unavailable(len(message)),
        xid=xid if xid.any() else None,
    )


def _groups(message: Places, oids: Places, versions: Versions) -> Iterator[tuple[Places, int]]:
    """The rows of each version of each relation."""
    for oid in np.unique(oids).tolist():
        of_table = np.flatnonzero(oids == oid)
        numbers = versions.numbers(oid, message[of_table])
        for number in np.unique(numbers).tolist():
            yield of_table[numbers == number], number


class _Changes:
    """The row changes of one version of one relation."""

    def __init__(self, wire: Wire, messages: Places, body: Places, version: Version) -> None:
        self._buffer = wire.buffer
        self._version = version
        columns = len(version.relation.columns)
        first = wire.u8(body + 4)
        self._check_first(wire, messages, first)
        self._old_rows = np.flatnonzero(first != _NEW)
        self._keys = first[self._old_rows] == _KEY
        place = body + 5
        self._old = read_tuples(wire, messages[self._old_rows], place[self._old_rows], columns)
        self._check_keys(wire, messages[self._old_rows])
        place[self._old_rows] = self._old.after
        updated = wire.tags[messages[self._old_rows]] == _UPDATE
        self._pass_new_tag(wire, messages, place, self._old_rows[updated])
        self._new_rows = np.flatnonzero(wire.tags[messages] != _DELETE)
        self._new = read_tuples(wire, messages[self._new_rows], place[self._new_rows], columns)
        place[self._new_rows] = self._new.after
        wire.refuse(place != wire.ends[messages], "it has bytes left over", messages)
        if updated.any():
            new = np.searchsorted(self._new_rows, self._old_rows[updated])
            fill_unchanged(self._new, self._old, new, np.flatnonzero(updated))

    @staticmethod
    def _check_first(wire: Wire, messages: Places, first: npt.NDArray[np.uint8]) -> None:
        tags = wire.tags[messages]
        new, old = first == _NEW, (first == _KEY) | (first == _OLD)
        fits = (new & (tags != _DELETE)) | (old & (tags != _INSERT))
        wire.refuse(~fits, "it has no tuple of the right kind", messages)

    def _check_keys(self, wire: Wire, messages: Places) -> None:
        """A key is all of its columns or it is not a key (INV-10)."""
        for column, value in zip(self._version.relation.columns, self._old.fields, strict=True):
            if column.is_key:
                wire.refuse(self._keys & value.unchanged(), "a key lacks a column", messages)

    @staticmethod
    def _pass_new_tag(wire: Wire, messages: Places, place: Places, rows: Places) -> None:
        """An update's new tuple follows its old one after a tag of its own."""
        wire.require(messages[rows], place[rows], 1)
        wire.refuse(wire.u8(place[rows]) != _NEW, "an update has no new tuple", messages[rows])
        place[rows] += 1

    def after(self) -> Iterator[Images]:
        """The images of the rows as they are now."""
        if len(self._new_rows):
            columns = captured(self._version, key_only=False)
            yield from _renumbered(images(self._buffer, self._new, columns), self._new_rows)

    def before(self) -> Iterator[tuple[Images, bool]]:
        """The images of the rows as they were, and whether they hold only the key."""
        for key_only in (False, True):
            chosen = np.flatnonzero(self._keys == key_only)
            if not len(chosen):
                continue
            columns = captured(self._version, key_only=key_only)
            made = images(self._buffer, self._old.pick(chosen), columns)
            for image in _renumbered(made, self._old_rows[chosen]):
                yield image, key_only


def _renumbered(made: Iterator[Images], rows: Places) -> Iterator[Images]:
    for image in made:
        yield Images(rows[image.rows], image.json, image.unavailable)


@dataclass(slots=True)
class _Column:
    """A column that is made piece by piece, in any order."""

    pieces: list[Images] = field(default_factory=list)

    def add(self, rows: Places, made: Images) -> None:
        self.pieces.append(Images(rows, made.json, made.unavailable))

    def json(self, count: int) -> pa.Array:
        return _placed([(piece.rows, piece.json) for piece in self.pieces], pa.string(), count)

    def unavailable(self, count: int) -> pa.Array | None:
        lists = [
            (piece.rows, piece.unavailable)
            for piece in self.pieces
            if piece.unavailable is not None
        ]
        return _placed(lists, pa.list_(pa.string()), count) if lists else None


def _placed(pieces: list[tuple[Places, pa.Array]], kind: pa.DataType, count: int) -> pa.Array:
    """Each piece's values at its rows, null elsewhere."""
    if not pieces:
        return pa.nulls(count, kind)
    values = pa.concat_arrays([values for _, values in pieces])
    rows = np.concatenate([rows for rows, _ in pieces])
    if len(pieces) == 1 and len(rows) == count:
        return values
    source = np.full(count, -1, dtype=np.int64)
    source[rows] = np.arange(len(rows))
    return values.take(pa.array(source, mask=source < 0))
