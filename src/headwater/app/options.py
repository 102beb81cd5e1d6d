"""What a configuration tells its source."""

from __future__ import annotations

from headwater.app.config import Config
from headwater.app.source_options import PostgresOptions, SourceOptions


def source_options(config: Config) -> SourceOptions:
    """What the configuration tells the source."""
    source = config.source
    return SourceOptions(
        name=config.name if "name" in config.model_fields_set else "",
        tables=source.tables,
        exclude=source.exclude,
        snapshot=source.snapshot,
        on_gap=source.on_gap,
        poll_interval_s=source.poll_interval.seconds,
        postgres=PostgresOptions(
            slot=source.slot,
            publication=source.publication,
            columns=source.columns,
            exclude_columns=source.exclude_columns,
            messages=source.messages,
            create=source.create,
            failover=source.failover,
            transport=source.transport,
            streaming=source.streaming,
            snapshot_workers=source.snapshot_workers,
            snapshot_rows_per_s=source.snapshot_rows_per_s,
            chunk_rows=source.chunk_rows,
            heartbeat_interval_s=source.heartbeat_interval.seconds,
            status_interval_s=source.status_interval.seconds,
        ),
    )
