"""Iceberg's own API, where SQL does not reach: a table, and its metadata whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class
from headwater.spark.gateway.scala import activate
from headwater.spark.table.iceberg.history import LOG, SEQUENCE, History

_SUMMARY = "spark.sql.iceberg.snapshot-property."


def load(session: SparkSession, name: str) -> Any:
    """The table of a name, from the other side of the gateway."""
    activate(session)  # a catalog that was not used yet is made from the active one's settings
    door = java_class(session, "org.apache.iceberg.spark.Spark3Util")
    return door.loadIcebergTable(session._jsparkSession, name)  # noqa: SLF001


def history_of(session: SparkSession, table: Any) -> History:
    """Told whole in one call: thousands of snapshots one by one would take seconds."""
    table.refresh()
    metadata = table.operations().current()
    parser = java_class(session, "org.apache.iceberg.TableMetadataParser")
    return History.parse(parser.toJson(metadata))


@contextmanager
def carrying(session: SparkSession, log_id: str, until: int) -> Iterator[None]:
    """A snapshot that the session makes has the position in its summary."""
    told = {f"{_SUMMARY}{LOG}": log_id, f"{_SUMMARY}{SEQUENCE}": str(until)}
    for name, value in told.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in told:
            session.conf.unset(name)
