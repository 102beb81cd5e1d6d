"""A folder that belongs to one log: numbers of another one would be taken for its own."""

from __future__ import annotations

from headwater.errors import GapError
from headwater.spark.gateway.files import Files


def claim(files: Files, folder: str, prefix: str, log_id: str) -> None:
    """Let the folder be this log's, by an empty file of that name; raises if it is another's."""
    mine = f"{prefix}{log_id}"
    held = [name for name in files.names(folder) if name.startswith(prefix)]
    if not held:
        files.mark(f"{folder}/{mine}")
    elif held != [mine]:
        raise other_log(folder)


def other_log(place: str) -> GapError:
    """That a table or folder holds what another log tells of, whose numbers mean other events."""
    return GapError(
        "spark-other-log",
        "changes of another log are there already",
        where=place,
        hint="choose a new target, or remove what is there to have it made anew",
    )
