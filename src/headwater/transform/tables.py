"""KeepTables: choose tables by glob."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.event import EventBatch, TableId, of_tables


@dataclass(frozen=True, slots=True)
class KeepTables:
    """Keeps events of tables that match one of `keep` and none of `drop`.

    Globs mean what `TableId.matches` says. A logical message has the empty name: `*` keeps it, and
    no table's name does.
    """

    keep: tuple[str, ...] = ("*",)
    drop: tuple[str, ...] = ()

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The chosen events."""
        return of_tables(batch, self.wants)

    def wants(self, table: TableId) -> bool:
        """Whether events of this table are kept."""
        return table.matches(self.keep) and not table.matches(self.drop)
