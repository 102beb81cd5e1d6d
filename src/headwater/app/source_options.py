"""What a source is told, whatever its database, and what only PostgreSQL is. Loads no driver."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME_LENGTH = 63  # PostgreSQL cuts longer names off


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """`slot` and `publication` default to a name made from the pipeline's."""

    slot: str | None = None
    publication: str | None = None
    columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    create: bool = True
    failover: bool = True
    transport: str = "auto"
    streaming: bool = True
    snapshot_workers: int = 2
    snapshot_rows_per_s: int | None = None
    chunk_rows: int = 20_000
    heartbeat_interval_s: float = 10.0
    status_interval_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What every source is told, whatever its database.

    `name` is the pipeline's; one that has none goes by the name of its database.
    """

    name: str = ""
    tables: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    snapshot: str = "initial"
    on_gap: str = "halt"
    poll_interval_s: float = 0.05
    postgres: PostgresOptions = field(default_factory=PostgresOptions)


def server_name(pipeline: str) -> str:
    """The name of a pipeline's slot and publication: each pipeline has its own.

    Two pipelines that shared a publication would each take the other's tables out of it.
    """
    plain = re.sub(r"[^a-z0-9_]+", "_", pipeline.lower()).strip("_")
    return f"headwater_{plain or 'default'}"[:_NAME_LENGTH]
