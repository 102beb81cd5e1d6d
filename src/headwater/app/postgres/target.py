"""A database that a command is pointed at: by its URL, or by the configuration that names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.app.config import load_config
from headwater.app.options import source_options
from headwater.app.postgres_settings import postgres_config
from headwater.app.registry import parse_url
from headwater.app.source_options import SourceOptions

if TYPE_CHECKING:
    from headwater.source.postgres import PostgresSourceConfig


def target(text: str, options: SourceOptions | None = None) -> PostgresSourceConfig:
    """The settings of the database at a URL, or of a configuration file (`.yaml`, `.yml`)."""
    if Path(text).suffix in {".yaml", ".yml"}:
        config = load_config(text)
        return postgres_config(config.source.url, source_options(config))
    return postgres_config(parse_url(text), options or SourceOptions())
