"""What a PostgreSQL source is told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

from headwater.contract import OnGap
from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.secret import Secret

# What Headwater itself says in the server's log: contexts, DDL, heartbeats.
OWN_PREFIX = "headwater."
_NAME = re.compile(r"[a-z0-9_]{1,63}")


class Transport(Enum):
    """How the slot is read. AUTO: by SQL only where the server gives no replication connection."""

    AUTO = "auto"
    REPLICATION = "replication"
    SQL = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSourceConfig:
    """A database and what to capture of it.

    `dsn` is a libpq connection string or URI; whatever it leaves out comes from libpq's own
    environment variables and files. Table globs mean what `TableId.matches`
    says. Column globs are `schema.table.column` or `table.column`. `messages` are globs of the
    prefixes of logical messages, which are compared with case; with them there is no `streaming`.
    """

    dsn: Secret
    slot: str = "headwater"
    publication: str = "headwater"
    tables: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    snapshot: bool = True
    on_gap: OnGap = OnGap.HALT
    create: bool = True
    failover: bool = True
    transport: Transport = Transport.AUTO
    streaming: bool = True
    chunk_rows: int = 20_000
    snapshot_workers: int = 2
    snapshot_rows_per_s: int | None = None
    status_interval_s: float = 5.0
    heartbeat_interval_s: float = 10.0
    connect_timeout_s: int = 10
    spool_directory: Path | None = None

    def __post_init__(self) -> None:
        for what, name in (("slot", self.slot), ("publication", self.publication)):
            if not _NAME.fullmatch(name):
                raise ConfigError(
                    "config-invalid",
                    f"{name!r} is no {what} name: 1 to 63 of a-z, 0-9 and _",
                    where=f"source.{what}",
                )

    def wants(self, table: TableId) -> bool:
        """Whether the table is to be captured."""
        return table.matches(self.tables) and not table.matches(self.exclude)

    def wants_column(self, table: TableId, column: str) -> bool:
        """Whether the column is to be captured."""
        kept = not self.columns or _any_column(self.columns, table, column)
        return kept and not _any_column(self.exclude_columns, table, column)

    def wants_message(self, prefix: str) -> bool:
        """Whether messages with this prefix become events. Our own never do."""
        if prefix.startswith(OWN_PREFIX):
            return False
        return any(fnmatchcase(prefix, glob) for glob in self.messages)


def _any_column(patterns: tuple[str, ...], table: TableId, column: str) -> bool:
    full, short = f"{table}.{column}".lower(), f"{table.name}.{column}".lower()
    return any(
        fnmatchcase(full if pattern.count(".") > 1 else short, pattern.lower())
        for pattern in patterns
    )
