"""How each of Spark's tables fares when no process tells: by what the log's file keeps.

A table's last batch is kept every few seconds and at the end of a run. How far it is behind is told
by the cursors, which are never late: where the stream is, and the places of parked tables.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from headwater.app.config import Config, SparkSettings
from headwater.app.registry import open_log
from headwater.app.spark.loop import CONSUMER
from headwater.app.spark.places import CursorPlaces
from headwater.app.target_name import target_name
from headwater.contract import Lag
from headwater.log import TakenInfo
from headwater.spark.modes import Modes, named


def last_known(config: Config) -> dict[str, dict[str, Any]]:
    """Every table that is kept, by its name and mode, as a running process tells of it."""
    settings = config.spark
    if settings is None:
        return {}
    log = open_log(config.log.path)
    taken = log.taken(target_name(settings.table_format, settings.target))
    held = CursorPlaces(config.log.path, CONSUMER).parked()
    stream = next((each.acked for each in log.places() if each.name == CONSUMER), 0)
    # A batch is taken before the cursor moves.
    reached = max([stream, *(each.sequence for each in taken if each.table not in held)])
    places = {
        each.table: held[each.table].after if each.table in held else reached
        for each in taken
        if _keeps(settings, each.table)
    }
    parked = {name for name, place in held.items() if not place.released}
    now_ms = time.time_ns() // 1_000_000
    with closing(log.reader()) as reader:
        lags = {after: reader.lag(after, now_ms) for after in set(places.values())}
    return {
        each.table: _as_dict(each, lags[places[each.table]], parked=each.table in parked)
        for each in taken
        if each.table in places
    }


def _as_dict(taken: TakenInfo, lag: Lag, *, parked: bool) -> dict[str, Any]:
    return {
        "sequence": taken.sequence,
        "lag_events": lag.events,
        "lag_bytes": lag.bytes,
        "lag_s": lag.seconds,
        "events": taken.events,
        "seconds": round(taken.seconds, 3),
        "events_per_s": round(taken.events / taken.seconds, 1) if taken.seconds else 0.0,
        "parked": (taken.parked or "earlier") if parked else None,
        "at_ms": taken.at_ms,
    }


def _keeps(settings: SparkSettings, name: str) -> bool:
    """Whether the configuration still keeps a table in a mode."""
    globs = () if settings.tables == ("*",) else settings.tables
    modes = Modes(settings.mode, settings.modes.by_mode(), tables=globs)
    tables, mode = named(name)
    keyless = mode == "append_log" and settings.on_no_key == "append_log"
    return any(modes.keeps(each) and (keyless or mode in modes.of(each)) for each in tables)
