"""Delta's own log, where SQL does not reach: the newest version, and positions inside commits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class, singleton
from headwater.spark.gateway.scala import items_of, none

VECTORS = "delta.enableDeletionVectors"

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_OURS = "headwater:"
_LIMITED = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"


def app_of(log_id: str) -> str:
    """The name of a log's positions; not the checkpoint's, for checkpoints may be lost."""
    return f"{_OURS}{log_id}"


def log_of(app_id: str) -> str | None:
    """Whose position it is, None if not a log's; what a load marks has more behind the log's."""
    return app_id.removeprefix(_OURS).partition(":")[0] if app_id.startswith(_OURS) else None


def log_at(session: SparkSession, path: str) -> Any:
    """The log of a table that need not exist. A table above it does not count."""
    log = java_class(session, "org.apache.spark.sql.delta.DeltaLog")
    return log.forTable(session._jsparkSession, path)  # noqa: SLF001


def newest(session: SparkSession, path: str) -> Any | None:
    """The newest version of a table, None if there is none."""
    nothing = none(session)
    snapshot = log_at(session, path).update(False, nothing, nothing)  # noqa: FBT003
    return snapshot if snapshot.version() >= 0 else None


def noted(snapshot: Any) -> Any | None:
    """What Delta wrote down beside a commit; None where an older writer did not.

    To ask the version itself takes Spark jobs: it would be put together from the whole log.
    """
    found = snapshot.checksumOpt()
    return found.get() if found.isDefined() else None


def carried(snapshot: Any, app_id: str) -> int:
    """The position that a version carries, 0 if none."""
    return positions(snapshot).get(app_id, 0)


def positions(snapshot: Any) -> dict[str, int]:
    """Every position that a version carries, by the name of whose it is."""
    note = noted(snapshot)
    if note is not None and note.setTransactions().isDefined():
        known = items_of(note.setTransactions().get())
        return {str(each.appId()): int(each.version()) for each in known}
    found = snapshot.transactions()
    return {str(name): int(found.apply(name)) for name in items_of(found.keySet().toSeq())}


def retention_ms(session: SparkSession, snapshot: Any) -> tuple[int, int]:
    """How long removed files are kept, and how long the log's own."""
    metadata = snapshot.metadata()
    names = singleton(session, "org.apache.spark.sql.delta.DeltaConfigs")
    return (
        int(
            singleton(session, "org.apache.spark.sql.delta.DeltaLog").tombstoneRetentionMillis(
                metadata
            )
        ),
        int(names.getMilliSeconds(names.LOG_RETENTION().fromMetaData(metadata))),
    )


@contextmanager
def carrying(session: SparkSession, app_id: str, until: int) -> Iterator[None]:
    """A commit of the session records `until`; Delta skips one that it has seen."""
    with _set(session, {_APP_ID: app_id, _VERSION: str(until)}), saying(session, until):
        yield


@contextmanager
def saying(session: SparkSession, until: int) -> Iterator[None]:
    """A commit of the session says for people up to where it brings its table."""
    with _set(session, {_METADATA: json.dumps({"headwater": {"sequence": until}})}):
        yield


@contextmanager
def beyond_retention(session: SparkSession) -> Iterator[None]:
    """Versions may be read for as long as their files are there.

    Delta refuses every one but the newest whose commit is older than what it keeps removed files
    for, also when nothing has been removed since: those of tables that are seldom written.
    """
    with _set(session, {_LIMITED: "false"}):
        yield


@contextmanager
def _set(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                session.conf.unset(name)
            else:  # it is the caller's session
                session.conf.set(name, was)
