"""A lake whose tables are Iceberg's, and what others do to such tables."""

from __future__ import annotations

from typing import Any

from headwater.spark.modes import Mode
from headwater.spark.table.iceberg import IcebergTarget, IcebergTargets
from tests.spark.letters import LETTERS
from tests.spark.test_modes import Modal


class Frost(Modal):
    """With an Iceberg table of every mode."""

    table_format = "iceberg"

    def targets(self, target: str, log_id: str) -> IcebergTargets:
        return IcebergTargets(target, log_id)

    def table(self, mode: Mode = "mirror") -> IcebergTarget:
        """As a driver opens it."""
        return self._all().open(self.spark, LETTERS.table, mode)

    def _all(self) -> IcebergTargets:
        return self.targets(self.target, self.log.reader().log_id)

    def call(self, procedure: str, mode: Mode = "mirror", **arguments: Any) -> None:
        """One of Iceberg's own procedures, which commit what is none of ours."""
        catalog, _, name = self.table(mode)._name.partition(".")
        listed = "".join(f", {key} => {value}" for key, value in arguments.items())
        self.spark.sql(f"CALL {catalog}.system.{procedure}(table => '{name}'{listed})").collect()

    def alter(self, change: str, mode: Mode = "mirror") -> None:
        self.spark.sql(f"ALTER TABLE {self.table(mode)._name} {change}")

    def snapshots(self, mode: Mode = "mirror") -> list[dict[str, Any]]:
        """The summaries of the current snapshot and those before it, the newest first."""
        return [dict(summary) for summary in self.table(mode)._history()._summaries()]
