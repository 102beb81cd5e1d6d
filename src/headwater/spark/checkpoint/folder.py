"""A checkpoint in a folder that Hadoop's file systems reach: looked through, and made anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.spark.checkpoint.files import (
    Offset,
    decode_commit,
    decode_metadata,
    decode_offset,
    encode_commit,
    encode_metadata,
    encode_offset,
)
from headwater.spark.gateway.files import Files

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that Spark would stumble over."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds: the last batch that was begun, the last that went through."""

    exists: bool
    begun: int | None = None
    finished: int | None = None
    begun_offset: Offset | None = None
    finished_offset: Offset | None = None
    problems: tuple[Problem, ...] = ()


def is_there(session: SparkSession, path: str) -> bool:
    """Whether there is such a folder."""
    return Files(session, path).exists(path)


class CheckpointFolder:
    """A checkpoint of a stream from one log."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._root = path
        self._files = Files(session, path)

    def is_there(self) -> bool:
        """Whether there is such a folder."""
        return self._files.exists(self._root)

    def look(self) -> Found:
        """What is there, and what of it is broken."""
        if not self.is_there():
            return Found(exists=False)
        problems: list[Problem] = []
        self._decoded("metadata", decode_metadata, problems)
        offsets, commits = self._numbers("offsets"), self._numbers("commits")
        begun, finished = max(offsets, default=None), max(commits, default=None)
        if finished is not None and (begun is None or begun < finished):
            problems.append(Problem(f"offsets/{finished}", "it is missing"))
        ends = {
            # Spark needs the batch before the last to know where the last one began.
            number: self._decoded(f"offsets/{number}", decode_offset, problems)
            for number in range(max(0, (begun or 0) - 1), (begun or 0) + 1)
            if begun is not None
        }
        if finished is not None:
            self._decoded(f"commits/{finished}", decode_commit, problems)
            if begun is not None and finished < begun - 1:
                problems.append(Problem(f"commits/{begun - 1}", "it is missing"))
        elif begun:
            problems.append(Problem(f"commits/{begun - 1}", "it is missing"))
        return Found(
            exists=True,
            begun=begun,
            finished=finished,
            begun_offset=None if begun is None else ends[begun],
            finished_offset=None if finished is None else ends.get(finished),
            problems=tuple(problems),
        )

    def rebuild(self, offset: Offset) -> str | None:
        """A new checkpoint whose only batch ended at `offset`; returns where the old one went."""
        draft = f"{self._root}.new-{uuid4().hex[:6]}"
        self._files.write(f"{draft}/metadata", encode_metadata(str(uuid4())))
        self._files.write(f"{draft}/offsets/0", encode_offset(offset, time.time_ns() // 1_000_000))
        self._files.write(f"{draft}/commits/0", encode_commit())
        aside = None
        if self._files.exists(self._root):
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            aside = f"{self._root}.aside-{stamp}-{uuid4().hex[:6]}"
            self._files.rename(self._root, aside)
        # Between the two a stream finds no checkpoint, and begins at the cursor.
        self._files.rename(draft, self._root)
        return aside

    def range_of(self, batch_id: int) -> tuple[int, int] | None:
        """After which event a batch that was begun begins, and where it ends; None: not said."""
        end = self._decoded(f"offsets/{batch_id}", decode_offset, [])
        before = self._decoded(f"offsets/{batch_id - 1}", decode_offset, []) if batch_id else None
        if end is None or (batch_id and before is None):
            return None
        if before is not None and before.origin == end.origin:
            return before.sequence, end.sequence
        return None if end.origin is None else (end.origin, end.sequence)

    def end_of(self, batch_id: int) -> int | None:
        """Where a batch that was begun ends; None: not said."""
        end = self._decoded(f"offsets/{batch_id}", decode_offset, [])
        return None if end is None else end.sequence

    def _numbers(self, kind: str) -> list[int]:
        names = self._files.names(f"{self._root}/{kind}")
        return [int(name) for name in names if name.isdigit()]

    def _decoded(
        self, name: str, decode: Callable[[bytes], _T], problems: list[Problem]
    ) -> _T | None:
        path = f"{self._root}/{name}"
        if not self._files.exists(path):
            problems.append(Problem(name, "it is missing"))
            return None
        try:
            return decode(self._files.read(path))
        except ValueError as exc:
            problems.append(Problem(name, str(exc)))
        except Py4JJavaError as exc:
            problems.append(Problem(name, str(exc.java_exception.getMessage())))
        return None
