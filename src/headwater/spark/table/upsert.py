"""A MERGE of rows that are whole: what is not there is inserted, what is there may be updated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.spark.sql import quoted


@dataclass(frozen=True, slots=True)
class Upsert:
    """Rows are the same if they agree in `same`; `updates` are set where `when` holds.

    The rows have the names of the table's columns; in conditions the table is `t`, the rows `s`.
    """

    columns: Sequence[str]
    same: Sequence[str]
    updates: Sequence[str] = ()
    when: str = "true"
    within: str = "true"

    def __call__(self, target: str, view: str) -> str:
        """The statement."""
        match = " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in self.same)
        names = ", ".join(map(quoted, self.columns))
        values = ", ".join(f"s.{quoted(name)}" for name in self.columns)
        clauses = [f"MERGE INTO {target} t USING {view} s ON {match} AND {self.within}"]
        if self.updates:
            sets = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in self.updates)
            clauses.append(f"WHEN MATCHED AND {self.when} THEN UPDATE SET {sets}")
        clauses.append(f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})")
        return " ".join(clauses)
