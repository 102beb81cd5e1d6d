"""The target's side of a proof: the tables that Spark keeps, as ranges of hashes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from headwater.app.proof.encoding import canonical
from headwater.app.proof.ranges import Entry, Summary
from headwater.app.proof.target import TargetTable
from headwater.app.spark.places import Claims
from headwater.event import TableSchema
from headwater.spark.proof.applied import AppliedTables
from headwater.spark.proof.hashed import HashedRows


@dataclass(frozen=True, slots=True)
class SparkTables:
    """Implements target.Target.

    A table's own position is its last change. `claims` may say more, if nothing changed since, and
    they say it of a table that was set back, too: what it lacks up to there is a difference.
    """

    tables: AppliedTables
    claims: Claims

    def table(self, schema: TableSchema) -> TargetTable | None:
        """A table as it stands now, or None if Spark has not made it yet."""
        found = self.tables.read(schema)
        if found is None:
            return None
        sequence = max(found.sequence, self.claims.of(schema.table, found.mode))
        return TargetTable(
            sequence,
            rows=lambda without: SparkSide(found.rows(without)),
            texts=lambda places, columns: found.rows(()).texts(places, columns),
        )


@dataclass(frozen=True, slots=True)
class SparkSide:
    """Implements ranges.Side."""

    hashed: HashedRows

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        """The ranges of so many digits, one Spark job."""
        found = self.hashed.ranges(digits, within)
        return {name: Summary(0, 0) + Summary(rows, total) for name, rows, total in found}

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        """The rows of these ranges, one Spark job."""
        for place, row_hash, key, count in self.hashed.rows(ranges):
            yield Entry(place, row_hash, canonical(key) if key else "", count)
