"""Delta's own log, where SQL does not reach: the newest version, and positions inside commits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

VECTORS = "delta.enableDeletionVectors"

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def jvm_of(session: SparkSession) -> Any:
    """The JVM behind a session; PySpark has no public door to Delta's classes."""
    return session._jvm  # noqa: SLF001


def log_at(session: SparkSession, path: str) -> Any:
    """The log of a table that need not exist. A table above it does not count."""
    delta = jvm_of(session).org.apache.spark.sql.delta
    return delta.DeltaLog.forTable(session._jsparkSession, path)  # noqa: SLF001


def newest(session: SparkSession, path: str) -> Any | None:
    """The newest version of a table, None if there is none."""
    none = jvm_of(session).scala.Option.empty()
    snapshot = log_at(session, path).update(False, none, none)  # noqa: FBT003
    return snapshot if snapshot.version() >= 0 else None


def carried(snapshot: Any, app_id: str) -> int:
    """The position that a version carries, 0 if none."""
    found = snapshot.transactions().get(app_id)
    return int(found.get()) if found.isDefined() else 0


@contextmanager
def carrying(session: SparkSession, app_id: str, until: int) -> Iterator[None]:
    """A commit of the session records `until`; Delta skips one that it has seen."""
    told = {
        _APP_ID: app_id,
        _VERSION: str(until),
        _METADATA: json.dumps({"headwater": {"sequence": until}}),
    }
    for name, value in told.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in told:
            session.conf.unset(name)
