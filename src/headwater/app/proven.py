"""Results of proofs that are kept: when each table was last proven equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headwater.app.config import Config, SparkSettings
from headwater.app.registry import open_log
from headwater.app.target_name import target_name
from headwater.log import Compared, SqliteLog


def keep(log: SqliteLog, settings: SparkSettings, sequence: int, found: Sequence[Compared]) -> None:
    """Keep what a proof at an event has found, in the log's file."""
    log.note_proofs(_target(settings), sequence, found)


def kept(config: Config) -> list[dict[str, Any]]:
    """What is known of the tables of a configuration, as plain values."""
    if config.spark is None:
        return []
    found = open_log(config.log.path).proofs(_target(config.spark))
    return [asdict(each) for each in found]


def _target(settings: SparkSettings) -> str:
    return target_name(settings.table_format, settings.target)
