"""`headwater spark release`: a parked table goes on without events that it cannot have."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.config import load_config
from headwater.app.spark.checkpoint import require_spark
from headwater.app.spark.loop import table_job
from headwater.app.spark.places import CursorPlaces
from headwater.app.spark.presence import Presence
from headwater.app.suggest import closest
from headwater.contract import LogBounds
from headwater.errors import ConfigError
from headwater.log import SqliteLog
from headwater.spark.modes import name_of, named

if TYPE_CHECKING:
    from headwater.app.spark.job import TableJob


def release_table(file: Path, table: str, after: int | None = None) -> dict[str, Any]:
    """Have a table of a configuration go on where the log begins, in each mode that it lacks."""
    config = load_config(file)
    settings = require_spark(file, config.spark)
    return release(table_job(config, settings), table, after)


def release(job: TableJob, table: str, after: int | None = None) -> dict[str, Any]:
    """The same of a job; its stream must not run, because it knows its places itself.

    `after` is the event after which the table goes on, if it is to take less than there is. What
    the job keeps no more is given up.
    """
    log, places = SqliteLog(job.log_path), CursorPlaces(job.log_path, job.consumer)
    with Presence(Path(job.log_path).resolve(), job.consumer).alone():
        bounds, parked = log.info().bounds, places.parked()
        chosen = {name: held.after for name, held in parked.items() if _means(table, name)}
        if not chosen:
            near = closest(table, parked)
            raise ConfigError(
                "spark-not-parked",
                f"{table} is not parked" + (f"; {', '.join(sorted(parked))}" if parked else ""),
                hint=f"did you mean {near}?" if near else "",
            )
        begin = _begin(bounds, after)
        kept, released = _kept(job), list[dict[str, Any]]()
        for name, at in sorted(chosen.items()):
            if name not in kept:
                places.release(name)
                released.append({"table": name, "goes_on_after": None, "without": None})
                continue
            place = max(at, begin)
            if place > at or after is not None:  # else it is held to have what it had before
                places.park(name, place, released=True)
            lost = [at + 1, place] if place > at else None
            released.append({"table": name, "goes_on_after": place, "without": lost})
    return {"released": released}


def _begin(bounds: LogBounds, after: int | None) -> int:
    begin = bounds.tail - 1
    if after is None:
        return begin
    if not begin <= after <= bounds.head:
        raise ConfigError(
            "spark-release-after",
            f"the log has events {bounds.tail:,} to {bounds.head:,}, not {after:,}",
        )
    return after


def _kept(job: TableJob) -> set[str]:
    with closing(SqliteLog(job.log_path).reader()) as reader:
        return {name_of(*key) for key in job.kept().known(reader)}


def _means(asked: str, name: str) -> bool:
    """A table in all of its modes, or in the one that is named behind it."""
    asked_table, _, asked_mode = asked.partition("@")
    tables, mode = named(name)
    return asked_mode in ("", mode) and any(table.matches((asked_table,)) for table in tables)
