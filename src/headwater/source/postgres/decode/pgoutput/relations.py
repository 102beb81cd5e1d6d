"""Which description of a table holds for which messages of a buffer.

A table may be described anew in mid-buffer; rows before that were written under the old
description. Each description in use has a number, and rows refer to it by that number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headwater.source.postgres.decode.pgoutput.messages import Relation, Shape, ShapeOf
from headwater.source.postgres.decode.pgoutput.wire import malformed
from headwater.source.postgres.decode.spans import Places


@dataclass(frozen=True, slots=True)
class Version:
    """A relation as described at some time, with its shape."""

    relation: Relation
    shape: Shape


@dataclass(slots=True)
class Versions:
    """The versions that one buffer refers to; `known` are those from before it."""

    known: Mapping[int, Version]
    used: list[Version] = field(default_factory=list)
    _since: dict[int, list[int]] = field(default_factory=dict)
    _numbers: dict[int, list[int]] = field(default_factory=dict)

    def see(self, message: int, relation: Relation, shape_of: ShapeOf) -> bool:
        """Take in a description; messages must come in order. Tell whether it says anything new."""
        self._recall(relation.oid)
        numbers = self._numbers.get(relation.oid)
        if numbers and self.used[numbers[-1]].relation == relation:
            return False
        self._add(relation.oid, message, Version(relation, shape_of(relation)))
        return True

    def at(self, oid: int, message: int) -> Version:
        """The version that holds at a message."""
        self._recall(oid)
        passed = bisect_right(self._since.get(oid, []), message)
        if passed == 0:
            raise malformed("its relation was never described", message)
        return self.used[self._numbers[oid][passed - 1]]

    def numbers(self, oid: int, messages: Places) -> npt.NDArray[np.int32]:
        """The numbers of the versions that hold at these messages."""
        self.at(oid, int(messages[0]))
        passed = np.searchsorted(np.array(self._since[oid]), messages, side="right")
        return np.array(self._numbers[oid], dtype=np.int32)[passed - 1]

    def latest(self) -> dict[int, Version]:
        """What is known after the buffer."""
        seen = {oid: self.used[numbers[-1]] for oid, numbers in self._numbers.items()}
        return {**self.known, **seen}

    def _recall(self, oid: int) -> None:
        if oid in self.known and oid not in self._since:
            self._add(oid, -1, self.known[oid])

    def _add(self, oid: int, since: int, version: Version) -> None:
        self._since.setdefault(oid, []).append(since)
        self._numbers.setdefault(oid, []).append(len(self.used))
        self.used.append(version)
