"""What a SQLite source is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path


class OnGap(Enum):
    """What to do when changes are known to be missing (INV-9)."""

    HALT = "halt"
    RESNAPSHOT = "resnapshot"
    ACCEPT = "accept"


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
        name = table.lower()

        def matches(patterns: tuple[str, ...]) -> bool:
            return any(fnmatchcase(name, pattern.lower()) for pattern in patterns)

        return matches(self.tables) and not matches(self.exclude)
