"""A lake whose tables are Iceberg's, and what others do to such tables."""

from __future__ import annotations

from typing import Any

from headwater.spark.keep.keeper import Keeper, KeepPolicy, NoKeepWatch
from headwater.spark.modes import Mode
from headwater.spark.table.iceberg import IcebergTarget, IcebergTargets
from headwater.spark.table.iceberg.upkeep import IcebergUpkeep
from tests.spark.letters import LETTERS
from tests.spark.test_modes import Modal


class Strict(NoKeepWatch):
    """What goes wrong is not only told."""

    def failed(self, name: str, error: Exception) -> None:
        raise AssertionError(name) from error


class Frost(Modal):
    """With an Iceberg table of every mode."""

    table_format = "iceberg"

    def targets(self, target: str, log_id: str) -> IcebergTargets:
        return IcebergTargets(target, log_id)

    def table(self, mode: Mode = "mirror") -> IcebergTarget:
        """As a driver opens it."""
        return self._all().open(self.spark, LETTERS.table, mode)

    def upkeep(self, mode: Mode) -> IcebergUpkeep:
        return self._all().upkeep(self.spark, LETTERS.table, mode)

    def _all(self) -> IcebergTargets:
        return self.targets(self.target, self.log.reader().log_id)

    def keep(self, *modes: Mode) -> None:
        """Looked after as between batches; nothing is left of snapshots but the newest."""
        keeper = Keeper(self._all(), KeepPolicy(surplus=-1, retain_s=0), Strict())
        for mode in modes:
            keeper.after_batch(self.spark.newSession(), [(LETTERS.table, mode)])

    def alter(self, change: str, mode: Mode = "mirror") -> None:
        self.spark.sql(f"ALTER TABLE {self.table(mode)._name} {change}")

    def snapshots(self, mode: Mode = "mirror") -> list[dict[str, Any]]:
        """The summaries of the current snapshot and those before it, the newest first."""
        return [dict(summary) for summary in self.table(mode)._history()._summaries()]
