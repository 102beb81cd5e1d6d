"""What a target table holds and how far it has come, read as one: for comparing with the source."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError, TransientError
from headwater.event import TableId, TableSchema
from headwater.spark.modes import Mode, Modes
from headwater.spark.proof.hashed import HashedRows
from headwater.spark.table.layout import CURRENT, DELETED_FLAG
from headwater.spark.table.parquet import Appended
from headwater.spark.table.path import table_path
from headwater.spark.table.target import Loadable, Targets

Session = SparkSession
_ATTEMPTS = 20
# What is true of the rows that the source has now.
_STANDING: dict[Mode, str] = {
    "mirror": "true",
    "soft_delete": f"NOT {DELETED_FLAG}",
    "scd2": CURRENT,
}


@dataclass(frozen=True, slots=True)
class Applied:
    """A table at one moment: the last change in it, and its rows without those at some places."""

    mode: Mode
    sequence: int
    rows: Callable[[Collection[str]], HashedRows]


class AppliedTables:
    """Tables as a stream of one log wrote them; without `targets` they are Parquet append logs."""

    def __init__(
        self, session: Session, target: str, targets: Targets | None, modes: Modes
    ) -> None:
        # Times and decimals are written as the settings say; those of the caller may be others.
        self._session = session.newSession()
        self._session.conf.set("spark.sql.session.timeZone", "UTC")
        self._session.conf.set("spark.sql.ansi.enabled", "true")
        self._target = target
        self._targets = targets
        self._modes = modes

    def read(self, schema: TableSchema) -> Applied | None:
        """The last applied sequence number and the rows at it; None if there is no table yet.

        A table that is being loaded cannot be read: raises `spark-table-loading`.
        """
        mode = self._modes.standing(schema.table)
        if mode is None:
            return None
        if self._targets is None:
            found = self._appended(schema)
        else:
            found = self._kept(self._targets, schema.table, mode)
        if found is None:
            return None
        applied, rows = found
        # A table keeps its own spelling of a name that only changed its case.
        spelt = {name.lower(): name for name in rows.columns}
        present = tuple(each for each in schema.columns if each.name.lower() in spelt)
        absent = {*schema.primary_key} - {each.name for each in present}
        if absent:
            raise ConfigError(
                "spark-key-changed",
                f"the table has no column {min(absent)}, which is of the source's key",
                where=f"table {schema.table}",
            )
        frame = rows.withColumnsRenamed({spelt[each.name.lower()]: each.name for each in present})
        shown = replace(schema, columns=present)
        return Applied(mode, applied, lambda without: HashedRows(frame, shown, without))

    def _kept(self, targets: Targets, table: TableId, mode: Mode) -> tuple[int, DataFrame] | None:
        target = targets.open(self._session, table, mode)
        standing = target.standing()
        rows = target.rows(standing)
        if rows is not None:
            return standing.applied, rows.where(_STANDING[mode])
        if isinstance(target, Loadable) and target.generation().taken() is not None:
            raise TransientError(
                "spark-table-loading", f"table {table} is still being loaded", where=target.place
            )
        return None

    def _appended(self, schema: TableSchema) -> tuple[int, DataFrame] | None:
        """A frame fixes its files when it is made.

        The same position before and after making it proves which one it shows, though a stream may
        be writing.
        """
        path = table_path(self._target, schema.table)
        for _ in range(_ATTEMPTS):
            table = Appended(self._session, path)
            before = table.applied()
            frame = table.rows(schema.primary_key)
            if frame is None:
                return None
            if table.applied() == before:
                return before, frame
        raise TransientError(
            "spark-table-busy", "the table is written too often to be read at rest", where=path
        )
