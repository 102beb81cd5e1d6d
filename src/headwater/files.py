"""Ground: making changes of files last.

A file that was made, renamed or removed is safe only when its directory is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


def sync_directory(path: Path) -> None:
    """Return when the directory's entries are durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file that takes the place of `path`, durably, when the block ends well.

    Until then, and if it does not, whatever stands at `path` stays as it is.
    """
    goal = path.resolve()  # a symbolic link stays one
    draft = goal.with_name(f".{goal.name}.{uuid4().hex}.new")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(goal)
        sync_directory(goal.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
