"""Which tables a pipeline's source has, whatever its database."""

from __future__ import annotations

from headwater.app.config import Config
from headwater.app.database import DatabaseFacts, look, sqlite_path
from headwater.app.options import source_options
from headwater.app.registry import default_registry
from headwater.app.source_options import SourceOptions
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError
from headwater.event import TableId


def source_tables(config: Config) -> tuple[TableId, ...]:
    """The tables of the configuration's database that can be captured."""
    return source_facts(config).capturable


def source_facts(config: Config) -> DatabaseFacts:
    """The tables of the configuration's database, with their columns."""
    return look_into(config.source.url, source_options(config))


def look_into(url: SourceUrl, options: SourceOptions) -> DatabaseFacts:
    """The database's tables; of another kind than we know, a coded error that lists what exists."""
    if url.server is not None:
        from headwater.app.postgres.tables import look_at_server

        return look_at_server(url, options)
    if url.path is None:
        known = ", ".join(default_registry().names()["sources"])
        raise ConfigError(
            "source-unknown",
            f"there is no source for {url.scheme}: URLs",
            where=str(url),
            hint=f"available: {known}, for example sqlite:///shop.db",
        )
    return look(sqlite_path(url))
