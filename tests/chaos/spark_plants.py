"""Bugs to plant in a driver: its tables take a batch twice, or not at all, when it is killed.

A name may end with the mode whose tables have the bug: `position_before_rows@scd2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.failpoint import failpoint
from headwater.spark.change.changes import SEQ, TableChanges
from headwater.spark.mode import mirror
from headwater.spark.modes import Mode
from headwater.spark.table import delta, merge
from headwater.spark.table.delta import DeltaTarget
from headwater.spark.table.iceberg import IcebergTarget
from headwater.spark.table.layout import SEQUENCE
from headwater.spark.table.path import table_of
from headwater.spark.table.target import Statement, Whole


def sow(name: str) -> None:
    """Plant the bug of that name."""
    plant, _, mode = name.partition("@")
    PLANTS[plant](mode)


def unguarded_merge(mode: str) -> None:
    """A MERGE that neither compares sequence numbers nor carries its position in the commit."""
    del mode
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


def position_before_rows(mode: str) -> None:
    """A table says that it has the batch, and takes its rows in a second commit."""

    def write(
        self: DeltaTarget | IcebergTarget, rows: DataFrame, until: int, statement: Statement
    ) -> None:
        self.mark(until)
        failpoint("plant.window")
        self._session.sql(statement(self._name, _named(rows)))

    _instead_of_writes(mode, write)


def _named(rows: DataFrame) -> str:
    view = f"planted_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    return view


def _instead_of_writes(
    mode: str, write: Callable[[DeltaTarget | IcebergTarget, DataFrame, int, Statement], None]
) -> None:
    """Tables of the mode write so; they are those of a folder."""
    for kind in (DeltaTarget, IcebergTarget):
        right = kind.write

        def planted(
            self: DeltaTarget | IcebergTarget,
            rows: DataFrame,
            until: int,
            statement: Statement,
            whole: Whole | None = None,
            right: Callable[..., None] = right,
        ) -> None:
            if _mode_of(self) == mode:
                write(self, rows, until, statement)
            else:
                right(self, rows, until, statement, whole)

        kind.write = planted  # type: ignore[method-assign]


def _mode_of(table: DeltaTarget | IcebergTarget) -> Mode:
    return table_of(table.place.rpartition("/")[2])[1]


PLANTS: dict[str, Callable[[str], None]] = {
    plant.__name__: plant for plant in (unguarded_merge, position_before_rows)
}
