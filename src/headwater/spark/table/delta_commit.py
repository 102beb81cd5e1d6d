"""Commits that no statement makes: actions of Delta's protocol, put together by us."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class, singleton
from headwater.spark.gateway.scala import activate, none, sequence
from headwater.spark.table.deltalog import carried, carrying, log_at


def action(session: SparkSession, kind: str, fields: Mapping[str, Any]) -> Any:
    """One action."""
    door = singleton(session, "org.apache.spark.sql.delta.actions.Action")
    return door.fromJson(json.dumps({kind: fields}))


def position(session: SparkSession, app_id: str, until: int) -> Any:
    """The action that carries a position; `carrying` says it only to Delta's own statements."""
    told = {"appId": app_id, "version": until, "lastUpdated": time.time_ns() // 1_000_000}
    return action(session, "txn", told)


def commit(session: SparkSession, table: str, actions: Sequence[Any]) -> int:
    """Commit actions to a table that stands; returns the version."""
    return finish(session, log_at(session, table).startTransaction(), actions)


def advance(session: SparkSession, table: str, app_id: str, until: int) -> None:
    """Move a position forward, unless it is there; a commit of the same stream makes this fail."""
    begun = begin(session, table, app_id, until)
    if begun is not None:
        with carrying(session, app_id, until):
            finish(session, begun, [position(session, app_id, until)])


def begin(session: SparkSession, table: str, app_id: str, until: int) -> Any | None:
    """A transaction that will carry the position; None if a commit before has."""
    activate(session)
    begun = log_at(session, table).startTransaction()
    if carried(begun.snapshot(), app_id) >= until:
        return None
    begun.readTxn().addOne(app_id)  # of two drivers that add the same, one fails
    return begun


def finish(session: SparkSession, begun: Any, actions: Sequence[Any]) -> int:
    """Commit actions in a transaction that was begun; returns the version."""
    nothing = none(session)
    write = java_class(session, "org.apache.spark.sql.delta.DeltaOperations$Write")
    append = java_class(session, "org.apache.spark.sql.SaveMode").Append
    operation = write(append, *[nothing] * 8)
    return int(begun.commit(sequence(session, actions), operation))
