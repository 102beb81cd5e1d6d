"""Whether a version of a Delta table can still be read: VACUUM removes what no newer one needs."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.spark.gateway.files import Files
from headwater.spark.gateway.scala import activate, none
from headwater.spark.state.entry import Entry
from headwater.spark.table.deltalog import beyond_retention, carried, log_at

_ANOTHER = "the table is another one: it was restored or made anew"


def unreadable(session: SparkSession, path: str, entry: Entry, app_id: str) -> str | None:
    """Why the version of an entry cannot be read, or None.

    Only files that the newest version does not need can be gone, so only those are looked for.
    """
    nothing = none(session)
    try:
        log = log_at(session, path)
        newest = log.update(False, nothing, nothing)  # noqa: FBT003 - py4j has no names
        if int(newest.version()) < entry.version:
            return _ANOTHER
        if int(newest.version()) == entry.version:
            return None if carried(newest, app_id) == entry.applied else _ANOTHER
        activate(session)
        with beyond_retention(session):  # what reading it would meet, shows here
            then = log.getSnapshotAt(entry.version, nothing, nothing, True)  # noqa: FBT003
        if carried(then, app_id) != entry.applied:
            return _ANOTHER
        wanted = _files(then, log.dataPath()) - _files(newest, log.dataPath())
        files = Files(session, path)
        gone = [name for name in sorted(wanted) if not files.exists(name)]
    except (Py4JJavaError, PySparkException) as exc:
        java = getattr(exc, "java_exception", None)
        return str(exc if java is None else java.getMessage()).partition("\n")[0]
    return f"{len(gone)} of its files were removed, {gone[0]} first" if gone else None


def _files(snapshot: Any, folder: Any) -> set[str]:
    """Data files and deletion vectors of a version, as absolute names."""
    names = set()
    for add in snapshot.allFiles().collectAsList():
        names.add(str(add.absolutePath(snapshot).toString()))
        vector = add.deletionVector()
        if vector is not None and vector.isOnDisk():
            names.add(str(vector.absolutePath(folder).toString()))
    return names
