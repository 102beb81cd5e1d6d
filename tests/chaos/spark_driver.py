"""The driver process that is killed: the log into Delta tables, once through, then a dump.

python -m tests.chaos.spark_driver DIRECTORY [--plant unguarded_merge] [--max-events N] [--dump]
"""

from __future__ import annotations

import argparse
import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import TableJob, as_of, spark_session
from headwater.errors import HeadwaterError
from headwater.event import TableId
from headwater.spark.change.changes import SEQ, TableChanges
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.mode import mirror
from headwater.spark.table import delta, merge
from headwater.spark.table.layout import SEQUENCE
from headwater.spark.table.path import table_path
from headwater.spark.table.target import Whole
from tests.chaos.worker import Place
from tests.chaos.workload import KEYS


def plant_unguarded_merge() -> None:
    """A MERGE that neither compares sequence numbers nor carries its position in the commit."""
    guarded = merge.merge_sql

    def unguarded(target: str, view: str, changes: TableChanges, within: str = "true") -> str:
        return guarded(target, view, changes, within).replace(f"s.{SEQ} > t.{SEQUENCE}", "true")

    @contextmanager
    def nothing(session: SparkSession, app_id: str, until: int) -> Iterator[None]:
        del session, app_id, until
        yield

    def never(self: delta.DeltaTarget, whole: Whole, until: int) -> bool:
        del self, whole, until
        return False

    delta.DeltaTarget._replaced = never  # type: ignore[method-assign]
    mirror.merge_sql = unguarded  # type: ignore[attr-defined]
    delta.carrying = nothing  # type: ignore[attr-defined]


def drive(place: Place, max_events: int, *, dump: bool, planted: bool) -> None:
    target = str(place.directory / "tables")
    # To be killed in upkeep there must be some: any table has more files and older ones than this.
    eager = "spark.keep" in os.environ.get("HEADWATER_FAILPOINT", "")
    job = TableJob(
        place.log,
        target,
        interval_s=None,
        max_events=max_events,
        maintenance=KeepPolicy(surplus=-2, retain_s=0) if eager else KeepPolicy(),
    )
    with spark_session() as session:
        job.run_once(session)
        if dump:
            found = {table: _rows(session, target, table) for table in KEYS}
            (place.directory / "dump.json").write_text(json.dumps(found))
            if not planted:
                _check_published(session, target, found)


def _check_published(session: SparkSession, target: str, found: dict[str, list[Any]]) -> None:
    """When everything is applied, the newest published set is what the tables hold."""
    newest = as_of(session, target)
    for each in newest.tables:
        rows = _plain_rows(newest.frame(each.table))
        if sorted(map(repr, rows)) != sorted(map(repr, found[each.table])):
            raise SystemExit(f"{each.table}: the published version {each.version} is another one")
    if {each.table for each in newest.tables} != {table for table in found if _made(target, table)}:
        raise SystemExit(f"published are only {newest.tables}")


def _rows(session: SparkSession, target: str, table: str) -> list[dict[str, Any]]:
    if not _made(target, table):
        return []  # nothing was ever written to it at the source
    return _plain_rows(session.read.format("delta").load(table_path(target, TableId(None, table))))


def _made(target: str, table: str) -> bool:
    return Path(table_path(target, TableId(None, table))).exists()


def _plain_rows(frame: DataFrame) -> list[dict[str, Any]]:
    names = [name for name in frame.columns if name != SEQUENCE]
    return [{name: _plain(row[name]) for name in names} for row in frame.collect()]


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--plant", choices=["", "unguarded_merge"], default="")
    parser.add_argument("--max-events", type=int, default=200_000)
    parser.add_argument("--dump", action="store_true")
    chosen = parser.parse_args()
    if chosen.plant:
        plant_unguarded_merge()
    try:
        planted = bool(chosen.plant)
        drive(Place(chosen.directory), chosen.max_events, dump=chosen.dump, planted=planted)
    except HeadwaterError as error:
        raise SystemExit(f"{error.code}: {error}") from error


if __name__ == "__main__":
    main()
