"""Which later version of a Delta table has the rows of an earlier one: only files came between.

OPTIMIZE and VACUUM are commits too, and after them the earlier version may soon be gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.spark.gateway.files import Files
from headwater.spark.state.entry import Entry
from headwater.spark.table.deltalog import carried, newest

_SETTINGS = {"SET TBLPROPERTIES", "UNSET TBLPROPERTIES"}

# The actions of a commit, one in each line.
Commit = Iterable[bytes]


def rested(session: SparkSession, path: str, entry: Entry, app_id: str) -> int:
    """The newest version that has the rows of the entry's, which may be its own."""
    try:
        snapshot = newest(session, path)
        if snapshot is None or int(snapshot.version()) <= entry.version:
            return entry.version
        later = _commits(session, path, entry.version, int(snapshot.version()))
        in_place = carried(snapshot, app_id) == entry.applied
        return last_rested(entry.version, later, app_id, in_place=in_place)
    except (Py4JJavaError, PySparkException):  # `unreadable` meets the same, and tells it
        return entry.version


def last_rested(
    version: int, later: Iterable[tuple[int, Commit]], app_id: str, *, in_place: bool
) -> int:
    """The last version before a commit that changes rows, of those that follow.

    Delta's log forgets its oldest commits. What those did not change shows in the newest version,
    if it is still at the position (`in_place`) and no commit that is left changes a row.
    """
    at, forgotten = version, False
    for number, commit in later:
        forgotten |= number != at + 1
        if changes_rows(commit, app_id):
            return version if forgotten else at
        at = number
    return version if forgotten and not in_place else at


def changes_rows(commit: Commit, app_id: str) -> bool:
    """Whether a commit does more than to write the same rows into other files, or a setting.

    One that moves the log's position does: the rows are then those of another moment.
    """
    actions = [json.loads(line) for line in commit if line.strip()]
    infos = [each["commitInfo"] for each in actions if "commitInfo" in each]
    sets = any(each.get("operation") in _SETTINGS for each in infos)
    return any(
        "cdc" in each
        or each.get("txn", {}).get("appId") == app_id
        or ("metaData" in each and not sets)
        or any(each.get(kind, {}).get("dataChange", False) for kind in ("add", "remove"))
        for each in actions
    )


def _commits(
    session: SparkSession, path: str, after: int, until: int
) -> Iterator[tuple[int, Commit]]:
    folder = f"{path}/_delta_log"
    files = Files(session, path)
    names = (name.removesuffix(".json") for name in files.names(folder) if name.endswith(".json"))
    for number in sorted(int(name) for name in names if name.isdigit()):
        if after < number <= until:
            yield number, files.read(f"{folder}/{number:020}.json").splitlines()
