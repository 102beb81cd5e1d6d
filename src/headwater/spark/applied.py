"""What a target table holds and how far it has come, read as one: for comparing with the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import TransientError
from headwater.event import TableId, TableSchema
from headwater.spark.delta import DeltaTarget
from headwater.spark.layout import CURRENT, DELETED_FLAG
from headwater.spark.modes import Mode, Modes
from headwater.spark.parquet import BATCH, current_rows
from headwater.spark.rows import stored_rows
from headwater.spark.target import table_path

Session = SparkSession
_ATTEMPTS = 20
# What is true of the rows that the source has now.
_STANDING: dict[Mode, str] = {
    "mirror": "true",
    "soft_delete": f"NOT {DELETED_FLAG}",
    "scd2": CURRENT,
}


class AppliedTables:
    """Delta tables or Parquet append logs below a target, as a stream of one log wrote them."""

    def __init__(
        self, session: Session, target: str, table_format: str, log_id: str, modes: Modes
    ) -> None:
        self._session = session
        self._target = target
        self._delta = table_format == "delta"
        self._app_id = f"headwater:{log_id}"
        self._modes = modes

    def shows_rows(self, table: TableId) -> bool:
        """Whether the rows that are can be told from a table: an append log has only events."""
        return self._mode(table) is not None

    def read(self, schema: TableSchema) -> tuple[int, Iterator[dict[str, Any]]] | None:
        """The last applied sequence number and the rows at it; None if there is no table yet.

        A frame fixes its files when it is made, and the same position before and after making it
        proves which one it shows, though a stream may be writing.
        """
        mode = self._mode(schema.table)
        if mode is None:
            return None
        path = table_path(self._target, schema.table, mode)
        for _ in range(_ATTEMPTS):
            before = self._applied(path)
            frame = self._frame(path, schema, mode)
            if frame is None:
                return None
            if self._applied(path) == before:
                present = tuple(each for each in schema.columns if each.name in frame.columns)
                return before, stored_rows(frame, replace(schema, columns=present))
        raise TransientError(
            "spark-table-busy", "the table is written too often to be read at rest", where=path
        )

    def _mode(self, table: TableId) -> Mode | None:
        return next((mode for mode in self._modes.of(table) if mode in _STANDING), None)

    def _frame(self, path: str, schema: TableSchema, mode: Mode) -> DataFrame | None:
        try:
            if self._delta:
                rows = self._session.read.format("delta").load(path)
                return rows.where(_STANDING[mode])
            return current_rows(self._session, path, schema.primary_key)
        except AnalysisException:
            return None  # nothing has been written there yet

    def _applied(self, path: str) -> int:
        if self._delta:
            return DeltaTarget(self._session, path, self._app_id).applied()
        try:
            last = self._session.read.parquet(path).agg(f.max(BATCH)).first()
        except AnalysisException:
            return 0
        return 0 if last is None or last[0] is None else int(last[0])
