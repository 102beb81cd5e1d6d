"""Where the demo takes place: a directory of its own, with a database and a configuration."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwater.app.config import Config, load_config
from headwater.app.demo.shop import create_shop
from headwater.errors import ConfigError

_MARK = ".headwater-demo"
_CONFIG = """\
# The pipeline of `headwater demo`. Try: headwater run {file}
version: 1
name: demo
source:
  url: sqlite:///shop.db
log:
  path: shop.hwlog
spark:
  target: tables
  table_format: {table_format}
  trigger: 1s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """How the demo is run."""

    directory: Path = Path("headwater-demo")
    seconds: float = 15.0
    table_format: Literal["delta", "parquet"] = "delta"
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Stage:
    """The prepared directory."""

    config: Config
    file: Path
    database: Path
    rows: int


def prepare(options: DemoOptions) -> Stage:
    """Make the directory anew. Only a directory that a demo has made is ever emptied."""
    directory = options.directory
    if directory.exists() and any(directory.iterdir()):
        if not (directory / _MARK).exists():
            raise ConfigError(
                "file-exists",
                "the directory is not empty and no demo has made it",
                where=str(directory),
                hint="choose another one with --directory",
            )
        shutil.rmtree(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _MARK).touch()
    except OSError as exc:
        raise ConfigError(
            "file-unwritable", f"cannot write: {exc.strerror}", where=str(directory)
        ) from exc
    database, file = directory / "shop.db", directory / "shop.yaml"
    rows = create_shop(database, options.seed)
    file.write_text(_CONFIG.format(file=file, table_format=options.table_format))
    return Stage(load_config(file), file, database, rows)
