"""A pipeline's settings as those of the PostgreSQL source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from headwater.app.source_options import SourceOptions, server_name
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError, MachineError

if TYPE_CHECKING:
    from headwater.source.postgres import PostgresSourceConfig


@contextmanager
def driver() -> Iterator[None]:
    """Around the import of the source: says what to install where its driver is missing."""
    try:
        yield
    except ImportError as exc:
        # Without libpq the driver is there and cannot be loaded; it then names no module.
        missing = exc.name or "libpq, which psycopg needs,"
        raise MachineError("postgres-missing", f"{missing} is not installed") from exc


def postgres_config(url: SourceUrl, options: SourceOptions) -> PostgresSourceConfig:
    """What the source is told. The name of a pipeline without one is its database's."""
    from headwater.contract import OnGap

    with driver():
        from headwater.source.postgres import PostgresSourceConfig
        from headwater.source.postgres.config import Transport
    if url.server is None:
        raise ConfigError(
            "source-unknown",
            "this needs a PostgreSQL database",
            where=str(url),
            hint="write postgresql://USER@HOST/DATABASE",
        )
    finer = asdict(options.postgres)
    own_name = server_name(options.name or url.name)
    finer["slot"] = finer["slot"] or own_name
    finer["publication"] = finer["publication"] or own_name
    finer["transport"] = Transport(finer["transport"])
    return PostgresSourceConfig(
        dsn=url.full,
        tables=options.tables,
        exclude=options.exclude,
        snapshot=options.snapshot == "initial",
        on_gap=OnGap(options.on_gap),
        **finer,
    )
