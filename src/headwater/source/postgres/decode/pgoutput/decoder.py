"""The decoder: payloads of replication messages in, columns of changes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.source.postgres.decode.pgoutput.blocks import Blocks, find_blocks
from headwater.source.postgres.decode.pgoutput.messages import (
    Begins,
    Commits,
    Control,
    Relation,
    RelationSeen,
    ShapeOf,
)
from headwater.source.postgres.decode.pgoutput.relations import Version, Versions
from headwater.source.postgres.decode.pgoutput.rows import Rows, read_rows
from headwater.source.postgres.decode.pgoutput.single import Payload, read_control, read_relation
from headwater.source.postgres.decode.pgoutput.wire import Wire
from headwater.source.postgres.decode.spans import Bytes, Places

_BEGIN, _COMMIT, _RELATION = b"BCR"
_BEGIN_SIZE, _COMMIT_SIZE = 21, 26
_IN_COLUMNS = np.zeros(256, dtype=np.bool_)
_IN_COLUMNS[np.frombuffer(b"BCIUD", dtype=np.uint8)] = True


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a buffer's messages say. `relations` are those that its rows count in."""

    tags: Bytes
    rows: Rows
    relations: tuple[Relation, ...]
    begins: Begins
    commits: Commits
    controls: tuple[Control, ...]


class Decoder:
    """Decodes one stream, buffer by buffer. `shape` is asked once for each new description.

    After an error the state is what it was before that buffer.
    """

    def __init__(self, shape: ShapeOf) -> None:
        self._shape = shape
        self._known: dict[int, Version] = {}
        self._inside = False

    def decode(self, buffer: bytes, starts: Places, ends: Places) -> Decoded:
        """Decode messages `buffer[starts[i]:ends[i]]`, given in order."""
        wire = Wire(buffer, starts, ends)
        blocks = find_blocks(wire, inside=self._inside)
        versions = Versions(self._known)
        controls = self._controls(wire, blocks, versions)
        rows = read_rows(wire, blocks, versions)
        decoded = Decoded(
            tags=wire.tags,
            rows=rows,
            relations=tuple(version.relation for version in versions.used),
            begins=_begins(wire),
            commits=_commits(wire),
            controls=controls,
        )
        self._known = versions.latest()
        self._inside = blocks.still_inside
        return decoded

    def _controls(self, wire: Wire, blocks: Blocks, versions: Versions) -> tuple[Control, ...]:
        controls: list[Control] = []
        for number in np.flatnonzero(~_IN_COLUMNS[wire.tags]).tolist():
            tag, end = int(wire.tags[number]), int(wire.ends[number])
            payload = Payload(wire.buffer, int(blocks.body[number]), end, number)
            if tag == _RELATION:
                relation = read_relation(payload)
                changed = versions.see(number, relation, self._shape)
                controls.append(RelationSeen(number, relation, changed))
            else:
                xid = int(blocks.xid[number])
                controls.append(read_control(tag, payload, xid, versions))
        return tuple(controls)


def _begins(wire: Wire) -> Begins:
    messages = _of_size(wire, _BEGIN, _BEGIN_SIZE)
    place = wire.starts[messages]
    return Begins(messages, wire.u32(place + 17), wire.i64(place + 1), wire.ms(place + 9))


def _commits(wire: Wire) -> Commits:
    messages = _of_size(wire, _COMMIT, _COMMIT_SIZE)
    place = wire.starts[messages]
    return Commits(messages, wire.i64(place + 2), wire.i64(place + 10), wire.ms(place + 18))


def _of_size(wire: Wire, tag: int, size: int) -> Places:
    messages = np.flatnonzero(wire.tags == tag)
    sizes = wire.ends[messages] - wire.starts[messages]
    wire.refuse(sizes != size, "it has not its kind's size", messages)
    return messages
