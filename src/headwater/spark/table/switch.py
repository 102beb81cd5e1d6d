"""Commits that no statement makes: a table begun with files that are there already."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from headwater.errors import TransientError
from headwater.spark.table.deltalog import VECTORS, carrying, jvm_of, log_at, newest


def switch_in(session: SparkSession, table: str, folder: str, app_id: str, until: int) -> None:
    """Begin the table with all rows of the one in a folder of its own, at a position.

    One commit: the shape, every file by its path from the table, and the position. Delta lets only
    one of two drivers make it.
    """
    rows = newest(session, f"{table}/{folder}")
    begun = log_at(session, table).startTransaction()
    if rows is None or begun.readVersion() >= 0:
        raise TransientError(
            "spark-load-overtaken", "another driver has made the table meanwhile", where=table
        )
    begun.updateMetadataForNewTable(_shape(rows.metadata()))
    actions = [_moved(session, each, folder) for each in rows.allFiles().collect()]
    seen = {"appId": app_id, "version": until, "lastUpdated": time.time_ns() // 1_000_000}
    with carrying(session, app_id, until):
        _commit(session, begun, [*actions, action(session, "txn", seen)])


def commit(session: SparkSession, table: str, actions: Sequence[Any]) -> None:
    """Commit actions to a table that stands."""
    _commit(session, log_at(session, table).startTransaction(), actions)


def action(session: SparkSession, kind: str, fields: Mapping[str, Any]) -> Any:
    """One action of Delta's protocol."""
    actions = jvm_of(session).org.apache.spark.sql.delta.actions
    door = getattr(getattr(actions, "Action$"), "MODULE$")
    return door.fromJson(json.dumps({kind: fields}))


def _commit(session: SparkSession, begun: Any, actions: Sequence[Any]) -> None:
    jvm = jvm_of(session)
    none = jvm.scala.Option.empty()
    write = getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$Write")
    operation = write(jvm.org.apache.spark.sql.SaveMode.Append, *[none] * 8)
    begun.commit(jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(actions)), operation)


def _shape(rows: Any) -> Any:
    settings = rows.configuration().updated(VECTORS, "true")
    return rows.copy(
        str(uuid4()),
        rows.name(),
        rows.description(),
        rows.format(),
        rows.schemaString(),
        rows.partitionColumns(),
        settings,
        rows.createdTime(),
    )


def _moved(session: SparkSession, file: Any, folder: str) -> Any:
    fields = json.loads(file.json())["add"]
    return action(
        session, "add", fields | {"path": f"{folder}/{fields['path']}", "dataChange": True}
    )
