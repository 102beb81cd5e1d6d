"""A generation: a branch of the table that it becomes, filled by appends.

Before the load is over the table has no snapshot of its own, so nobody sees a row of it. To switch
the generation in is to begin main with the branch, in one commit of metadata: columns keep their
numbers, and nothing is copied, in whichever catalog the table is.

The changes that are kept stand in a table of ours. It is there from the beginning of a load to its
end, and so tells which tables are being loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import TransientError
from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.contents import USED
from headwater.spark.modes import MODES, Mode
from headwater.spark.source.data_file import DataFile
from headwater.spark.table.iceberg.catalog import FORGETFUL, Address, Catalog, create
from headwater.spark.table.iceberg.history import LOG, MODE, SEQUENCE, TABLE
from headwater.spark.table.iceberg.metadata import history_of, load
from headwater.spark.table.iceberg.publish import LOAD, MAIN, publish
from headwater.spark.table.layout import Layout
from headwater.spark.table.target import Taken, Target

# Above every sequence number: to a branch that has come so far nothing is added any more.
_CLOSED = 2**62
# Positions are in the branch's past, which whoever lets old snapshots expire is to leave alone.
_EVERY = 2**31 - 1


class IcebergGeneration:
    """Implements Generation.

    Positions are in the summaries of the branch's snapshots, by name: the log's own comes with the
    switch, and what happens before it has names of its own.
    """

    def __init__(
        self,
        session: SparkSession,
        address: Address,
        log_id: str,
        kept: tuple[TableId, Mode],
        opened: Callable[[Address, str, str], Target],
    ) -> None:
        """`opened` opens a table by its address, the name of a position, and a branch."""
        if address.beside is None:
            raise ValueError(f"{address.place} is a table of ours, which is not loaded")
        self._session = session
        self._address = address
        self._beside = address.beside
        self._log_id = log_id
        self._kept = kept
        self._opened = opened
        # Each remembers the position that it has told, and takes nothing if another has gone on.
        self._rows = self._on_branch("rows")
        self._changes = opened(self._beside, log_id, MAIN)

    def _once(self, what: str) -> str:
        return f"{self._log_id}:{what}"

    def _on_branch(self, what: str) -> Target:
        return self._opened(self._address, self._once(what), LOAD)

    def taken(self) -> Taken | None:
        """How far it has come."""
        rows = self._rows.standing()
        if rows.version is None:
            return None
        closed = rows.applied - _CLOSED
        return Taken(
            rows=rows.applied,
            changes=self._changes.standing().applied,
            closed=closed if closed >= 0 else None,
        )

    def prepare(self, schema: TableSchema, layout: Layout) -> None:
        """Begin it; its columns are the table's, and are brought to the schema as those are."""
        owner = {TABLE: str(self._kept[0]), MODE: self._kept[1]}
        create(self._session, self._beside, USED, FORGETFUL | owner)
        self._rows.prepare(schema, layout)
        table = load(self._session, self._address.name)
        if not table.refs():
            begun = table.manageSnapshots().createBranch(LOAD)
            begun.setMinSnapshotsToKeep(LOAD, _EVERY).commit()

    def append(self, rows: DataFrame, until: int) -> None:
        """Add rows in one commit, without looking at those that are there."""
        failpoint("spark.load.before_append")
        self._rows.fill(rows, until)
        failpoint("spark.load.after_append")

    def folder(self) -> str | None:
        """None: columns are told by numbers, which files from elsewhere would not have."""
        return None

    def add(self, files: Sequence[DataFile], until: int) -> None:
        """Never asked for: there is no folder."""
        raise NotImplementedError(f"{len(files)} files up to {until} of {self._address.place}")

    def is_distinct(self) -> bool:
        """Not known: Iceberg tells the bounds of keys cut short."""
        return False

    def keep(self, events: DataFrame, until: int) -> None:
        """Keep events for the end."""
        self._changes.fill(events, until)
        failpoint("spark.load.after_keep")

    def close(self, until: int) -> None:
        """Put the position beyond reach, and the true one in what it is beyond by."""
        self._mark(LOAD, self._once("rows"), _CLOSED + until)
        failpoint("spark.load.closed")

    def _mark(self, branch: str, log_id: str, position: int) -> None:
        """Add a snapshot without rows that carries a position."""
        mark = load(self._session, self._address.name).newFastAppend().toBranch(branch)
        mark.set(LOG, log_id).set(SEQUENCE, str(position)).commit()

    def rows(self) -> DataFrame:
        """The rows that it holds."""
        return self._session.table(f"{self._address.name}.branch_{LOAD}")

    def replace(self, rows: DataFrame, until: int) -> None:
        """Hold these rows instead, once."""
        replaced = self._on_branch("replaced")
        replaced.write(rows, until, lambda to, view: f"INSERT OVERWRITE {to} TABLE {view}")

    def kept(self) -> DataFrame | None:
        """The events that were kept."""
        return self._changes.rows(self._changes.standing())

    def merging(self) -> Target:
        """Its rows as a table whose position is that of the merged changes."""
        return self._on_branch("merged")

    def switch(self, until: int) -> None:
        """Begin main with the branch, in one commit that carries the position."""
        failpoint("spark.load.before_switch")
        table = load(self._session, self._address.name)
        loaded = history_of(self._session, table).on(LOAD)
        position = self._log_id, until
        try:
            publish(table, MAIN, loaded.base, position, lambda to: self._mark(to, *position))
        except Exception as exc:
            if not table.refs().containsKey(MAIN):
                raise
            raise TransientError(
                "spark-load-overtaken",
                "another driver has made the table meanwhile",
                where=self._address.place,
            ) from exc
        failpoint("spark.load.after_switch")

    def clear(self) -> None:
        """Remove the branch, if the switch has not, and the kept changes: the latter last."""
        if self._rows.standing().version is not None:
            table = load(self._session, self._address.name)
            table.manageSnapshots().removeBranch(LOAD).commit()
        self._session.sql(f"DROP TABLE IF EXISTS {self._beside.name} PURGE")
        failpoint("spark.load.cleared")


def begun(session: SparkSession, catalog: Catalog) -> tuple[tuple[TableId, Mode], ...]:
    """The tables of a catalog that have a generation."""
    owners = (
        history_of(session, load(session, name)).properties for name in catalog.begun(session)
    )
    modes = {str(mode): mode for mode in MODES}
    return tuple((TableId(None, each[TABLE]), modes[each[MODE]]) for each in owners)
