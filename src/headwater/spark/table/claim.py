"""Whose a folder is: numbers of another log would be taken for its own, and others may write."""

from __future__ import annotations

from headwater.errors import GapError, TransientError
from headwater.spark.gateway.files import Files


def claim(files: Files, folder: str, prefix: str, log_id: str) -> None:
    """Let the folder be this log's, by an empty file of that name; raises if it is another's."""
    if not claimed(files, folder, prefix, log_id):
        raise other_log(folder)


def claimed(files: Files, folder: str, prefix: str, owner: str) -> bool:
    """Whether the folder is this owner's now: one that was nobody's is."""
    mine = f"{prefix}{owner}"
    held = [name for name in files.names(folder) if name.startswith(prefix)]
    if not held:
        files.mark(f"{folder}/{mine}")
    return held in ([], [mine])


def other_log(place: str) -> GapError:
    """That a table or folder holds what another log tells of, whose numbers mean other events."""
    return GapError(
        "spark-other-log",
        "changes of another log are there already",
        where=place,
        hint="choose a new target, or remove what is there to have it made anew",
    )


def contended(place: str, attempts: int) -> TransientError:
    """That somebody else writes to a table all the time."""
    return TransientError(
        "spark-contended",
        f"somebody else has written to the table at each of {attempts} attempts",
        where=place,
    )
