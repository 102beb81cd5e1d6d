"""What only a PostgreSQL source is told. Loads no driver."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME_LENGTH = 63  # PostgreSQL cuts longer names off


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """`slot` and `publication` default to a name made from the pipeline's."""

    slot: str | None = None
    publication: str | None = None
    columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    create: bool = True
    failover: bool = True
    streaming: bool = True
    snapshot_workers: int = 2
    snapshot_rows_per_s: int | None = None
    chunk_rows: int = 20_000
    heartbeat_interval_s: float = 10.0
    status_interval_s: float = 5.0


def server_name(pipeline: str) -> str:
    """The name of a pipeline's slot and publication: each pipeline has its own.

    Two pipelines that shared a publication would each take the other's tables out of it.
    """
    plain = re.sub(r"[^a-z0-9_]+", "_", pipeline.lower()).strip("_")
    return f"headwater_{plain or 'default'}"[:_NAME_LENGTH]
