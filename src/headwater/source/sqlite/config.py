"""What a SQLite source is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headwater.contract import OnGap
from headwater.event import TableId


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSourceConfig:
    """A database file and what to capture of it. Table names are globs, compared without case."""

    path: Path
    tables: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    snapshot: bool = True
    on_gap: OnGap = OnGap.HALT
    install: bool = True
    poll_interval_s: float = 0.05
    chunk_rows: int = 5_000
    busy_timeout_s: float = 10.0

    def wants(self, table: str) -> bool:
        """Whether the table is to be captured."""
        named = TableId(None, table)
        return named.matches(self.tables) and not named.matches(self.exclude)
