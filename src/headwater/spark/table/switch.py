"""A table begun with files that are there already, by one commit."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from headwater.errors import TransientError
from headwater.spark.table.delta_commit import action, finish, position
from headwater.spark.table.delta_files import KnownFiles
from headwater.spark.table.deltalog import VECTORS, carrying, log_at, newest


def switch_in(
    session: SparkSession, table: str, folder: str, app_id: str, until: int, known: KnownFiles
) -> None:
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
    actions = [
        _moved(session, each, folder) for each in known.of(f"{table}/{folder}", rows).values()
    ]
    with carrying(session, app_id, until):
        finish(session, begun, [*actions, position(session, app_id, until)])


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
