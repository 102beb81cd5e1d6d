"""Spark's checkpoint against what the tables know: looked at, and made anew from them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.config import SparkSettings, load_config
from headwater.app.spark.loop import session_factory, table_job
from headwater.app.spark.places import parked_table
from headwater.app.spark.presence import Presence
from headwater.contract import LogBounds
from headwater.errors import ConfigError, GapError, StateError
from headwater.log import SqliteLog
from headwater.spark.modes import name_of

if TYPE_CHECKING:
    from headwater.app.spark.job import TableJob
    from headwater.spark.checkpoint.folder import Found
    from headwater.spark.proof.applied import Session
    from headwater.spark.state.positions import Place


def require_spark(file: Path, settings: SparkSettings | None) -> SparkSettings:
    """The spark section, if its tables have versions."""
    if settings is None:
        raise ConfigError(
            "verify-no-target", "the configuration has no spark section", where=str(file)
        )
    if settings.table_format == "parquet":
        raise ConfigError("spark-no-versions", "the tables are Parquet's", where=str(file))
    return settings


def inspect_checkpoint(file: Path) -> dict[str, Any]:
    """What the checkpoint of a configuration is, as plain values."""
    config = load_config(file)
    settings = require_spark(file, config.spark)
    SqliteLog(config.log.path).info()  # a missing log is said before Spark is started
    with session_factory(settings)() as session:
        return survey(session, table_job(config, settings)).as_dict()


def rebuild_checkpoint(file: Path, *, really: bool) -> dict[str, Any]:
    """Make the checkpoint of a configuration anew, or say what would be done."""
    config = load_config(file)
    settings = require_spark(file, config.spark)
    SqliteLog(config.log.path).info()
    with session_factory(settings)() as session:
        return rebuild(session, table_job(config, settings), really=really)


@dataclass(frozen=True, slots=True)
class Survey:
    """Where the checkpoint, the cursor, the log and the tables stand."""

    path: str
    checkpoint: Found
    log_id: str
    bounds: LogBounds
    cursor: int | None
    state: int | None
    places: tuple[Place, ...]

    @property
    def safe(self) -> int | None:
        """Up to where every table has everything; those that go apart are brought after it."""
        return min((place.complete for place in self.places if not place.apart), default=None)

    @property
    def begins(self) -> int | None:
        """After which event a stream would begin now; None if it could not."""
        if self.checkpoint.problems:
            return None
        if self.checkpoint.finished is not None:
            offset = self.checkpoint.finished_offset
            return None if offset is None else offset.sequence
        return self.bounds.tail - 1 if self.cursor is None else self.cursor

    def faults(self) -> list[str]:
        """What is wrong, in sentences."""
        found = [f"{each.file}: {each.reason}" for each in self.checkpoint.problems]
        ends = (self.checkpoint.begun_offset, self.checkpoint.finished_offset)
        if any(end is not None and end.log_id != self.log_id for end in ends):
            found.append("the checkpoint was made with another log")
        begins = self.begins
        if begins is None:
            return found
        # Without a state a table's position is only its last change: nothing follows from it.
        if self.state is not None and self.safe is not None and begins > self.safe:
            found.append(f"a stream would begin after event {begins}, tables need {self.safe + 1}")
        if begins < self.bounds.tail - 1:
            found.append(f"event {begins + 1} is needed, and the log begins at {self.bounds.tail}")
        if begins > self.bounds.head:
            found.append(f"event {begins} is needed, and the log ends at {self.bounds.head}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values, with a sentence."""
        faults, found = self.faults(), self.checkpoint
        if faults:
            summary = f"a stream cannot go on safely: {faults[0]}"
        elif found.exists:
            summary = f"sound: a stream goes on after event {self.begins:,}"
        else:
            summary = f"there is no checkpoint: a stream begins after event {self.begins:,}"
        return {
            "ok": not faults,
            "summary": summary,
            "checkpoint": self.path,
            "exists": found.exists,
            "batch_begun": found.begun,
            "batch_finished": found.finished,
            "begins_after": self.begins,
            "problems": [{"file": each.file, "reason": each.reason} for each in found.problems],
            "faults": faults,
            "cursor": self.cursor,
            "log": {"id": self.log_id, "tail": self.bounds.tail, "head": self.bounds.head},
            "state": self.state,
            "safe": self.safe,
            "tables": [
                {
                    "table": str(place.table),
                    "mode": place.mode,
                    "version": place.version,
                    "applied": place.applied,
                    "complete": place.complete,
                    "lag_events": max(0, self.bounds.head - place.complete),
                }
                for place in self.places
            ],
        }


def survey(session: Session, job: TableJob) -> Survey:
    """Look at everything through a session that is open."""
    from headwater.app.spark.targets import targets_of
    from headwater.spark.checkpoint.folder import CheckpointFolder
    from headwater.spark.state.positions import places
    from headwater.spark.state.store import store_of
    from headwater.spark.state.table import StateTable, Writer

    info = SqliteLog(job.log_path).info()
    cursors = {cursor.name: cursor.acked for cursor in info.cursors}
    parked = {parked_table(name, job.consumer) for name in cursors}
    writer = Writer(info.log_id, job.consumer)
    targets = targets_of(job.table_format, job.location, info.log_id)
    if targets is None or job.table_format == "parquet":
        raise ConfigError("spark-no-versions", "the tables are Parquet's", where=job.location)
    written = StateTable(store_of(job.table_format, session, job.location), writer).written()
    with closing(SqliteLog(job.log_path).reader()) as reader:
        found = places(session, targets, reader, job.kept(), written)
    return Survey(
        path=job.checkpoint,
        checkpoint=CheckpointFolder(session, job.checkpoint).look(),
        log_id=info.log_id,
        bounds=info.bounds,
        cursor=cursors.get(job.consumer),
        state=written.until or None,
        # A table that is not there, and never was, holds nothing back.
        places=tuple(
            replace(each, apart=each.apart or name_of(each.table, each.mode) in parked)
            for each in found
        ),
    )


def rebuild(session: Session, job: TableJob, *, really: bool) -> dict[str, Any]:
    """A checkpoint that begins where every table has everything; the old one is moved aside."""
    from headwater.spark.checkpoint.files import Offset
    from headwater.spark.checkpoint.folder import CheckpointFolder

    with Presence(Path(job.log_path).resolve(), job.consumer).alone():
        seen = survey(session, job)
        start = _start(seen, job)
        facts = {**seen.as_dict(), "begins_after": start, "done": really, "moved_to": None}
        if really:
            _set_cursor(job, seen.cursor, start)
            folder = CheckpointFolder(session, job.checkpoint)
            facts["moved_to"] = folder.rebuild(Offset(start, seen.log_id))
    return facts


def _start(seen: Survey, job: TableJob) -> int:
    start = seen.safe
    if start is None or not any(place.applied for place in seen.places):
        raise StateError(
            "spark-nothing-applied", "no table has a position of this log", where=job.location
        )
    if start > seen.bounds.head:
        raise GapError(
            "log-behind",
            f"the tables stand at event {start}, but the log ends at {seen.bounds.head}",
            where=str(job.log_path),
        )
    if start < seen.bounds.tail - 1:
        behind = [place for place in seen.places if place.complete < seen.bounds.tail - 1]
        names = ", ".join(f"{place.table} ({place.mode})" for place in behind)
        raise GapError(
            "spark-checkpoint-gap",
            f"{names}: event {start + 1} is needed, but the log begins at {seen.bounds.tail}",
            where=str(job.log_path),
        )
    return start


def _set_cursor(job: TableJob, acked: int | None, start: int) -> None:
    """A cursor that is ahead would let retention remove what the stream is about to read."""
    log = SqliteLog(job.log_path)
    if acked is None:
        log.cursor(job.consumer, required=True, start=start).close()
    elif acked > start:
        log.rewind(job.consumer, start)
