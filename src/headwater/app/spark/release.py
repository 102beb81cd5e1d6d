"""`headwater spark release`: a parked table goes on without what the log no longer holds."""

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
from headwater.errors import ConfigError
from headwater.log import SqliteLog
from headwater.spark.modes import named

if TYPE_CHECKING:
    from headwater.app.spark.job import TableJob


def release_table(file: Path, table: str) -> dict[str, Any]:
    """Have a table of a configuration go on where the log begins, in each mode that it lacks."""
    config = load_config(file)
    settings = require_spark(file, config.spark)
    return release(table_job(config, settings), table)


def release(job: TableJob, table: str) -> dict[str, Any]:
    """The same of a job; its stream must not run, because it knows its places itself."""
    log, places = SqliteLog(job.log_path), CursorPlaces(job.log_path, job.consumer)
    with Presence(Path(job.log_path).resolve(), job.consumer).alone():
        bounds, parked = log.info().bounds, places.parked()
        chosen = {name: after for name, after in parked.items() if _means(table, name)}
        if not chosen:
            near = closest(table, parked)
            raise ConfigError(
                "spark-not-parked",
                f"{table} is not parked" + (f"; {', '.join(sorted(parked))}" if parked else ""),
                hint=f"did you mean {near}?" if near else "",
            )
        begin = bounds.tail - 1
        released = []
        for name, after in sorted(chosen.items()):
            if after < begin:
                with closing(log.cursor(places.cursor(name))) as cursor:
                    cursor.ack(begin)
            lost = None if after >= begin else [after + 1, begin]
            released.append({"table": name, "goes_on_after": max(after, begin), "without": lost})
    return {"released": released}


def _means(asked: str, name: str) -> bool:
    """A table in all of its modes, or in the one that is named behind it."""
    asked_table, _, asked_mode = asked.partition("@")
    tables, mode = named(name)
    return asked_mode in ("", mode) and any(table.matches((asked_table,)) for table in tables)
