"""The target's side of a proof: rows of the tables that Spark keeps, and what they have applied."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.app.verify import TableRows
from headwater.event import TableSchema
from headwater.spark.proof.applied import AppliedTables


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Implements verify.RowReader."""

    tables: AppliedTables

    def table(self, schema: TableSchema) -> TableRows | None:
        """The rows of a table, or None if Spark has not made it yet."""
        found = self.tables.read(schema)
        return None if found is None else TableRows(*found)
