"""`headwater verify`: the proof for a configuration, with Spark's tables as the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.config import Config, load_config
from headwater.app.database import sqlite_path
from headwater.app.inspect import writer_of
from headwater.app.options import source_options
from headwater.app.proof.choice import comparable
from headwater.app.proof.mend import Mender
from headwater.app.proof.narrow import MAX_KEYS
from headwater.app.proof.result import as_result
from headwater.app.proof.verifier import Bounds, Progress, Proof, SourceRows, Verifier
from headwater.app.proven import keep, kept
from headwater.app.registry import open_log
from headwater.app.source_tables import source_tables
from headwater.app.spark.loop import CONSUMER, SessionFactory, session_factory, table_job
from headwater.app.spark.places import CursorPlaces
from headwater.app.tables import choose_tables
from headwater.errors import ConfigError, TransientError
from headwater.event import TableId, TableSchema
from headwater.log import Compared, SqliteLog
from headwater.observe import SystemClock

if TYPE_CHECKING:
    from headwater.contract import LogReader
    from headwater.spark.modes import Modes
    from headwater.spark.proof.applied import AppliedTables, Session

# Without a capture process the log will not move: waiting long for it would only hide that.
_IDLE_TIMEOUT_S = 2.0
_ATTEMPTS = 4

OpenRows = Callable[[], AbstractContextManager[SourceRows]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `headwater verify` is asked for."""

    tables: tuple[str, ...] = ("*",)
    timeout_s: float = 60.0
    max_keys: int = MAX_KEYS
    repair: bool = False


def prove(
    file: Path,
    asked: Asked,
    progress: Progress = lambda _step: None,
    open_session: SessionFactory | None = None,
) -> dict[str, Any]:
    """Compare the tables of a configuration, and mend them if that is asked; plain values."""
    config = load_config(file)
    settings = config.spark
    if settings is None:
        raise ConfigError(
            "verify-no-target",
            "the configuration has no spark section, so there are no tables to compare",
            where=str(file),
        )
    source = config.source
    captured = [table for table in source_tables(config) if table.matches(source.tables)]
    matched = choose_tables(asked.tables, source.exclude, captured, "--tables")
    log = open_log(config.log.path)
    log.info()  # a missing log is said before Spark is started
    opened = open_session or session_factory(settings)
    tables = _comparable(config, log, asked.tables, matched)
    running = writer_of(config.log.path) is not None
    patience_s = asked.timeout_s if running else min(asked.timeout_s, _IDLE_TIMEOUT_S)
    bounds = Bounds(patience_s, asked.max_keys)
    with opened() as session:
        proof = prove_with(session, config, log, tables, bounds, progress)
        found = _result(config, proof)
        if proof.equal or not asked.repair:
            return found
        mender = Mender(file, config, log, SystemClock(), asked.timeout_s)
        repaired = mender.mend(proof, session, applied_to(session, config, log))
        proof = prove_with(session, config, log, tables, bounds, progress)
        return _result(config, proof) | {"found": found, "repaired": repaired}


def _comparable(
    config: Config, log: SqliteLog, asked: Sequence[str], matched: Sequence[TableId]
) -> tuple[TableId, ...]:
    with closing(log.reader()) as reader:
        known = {schema.table for _, schema in reader.schemas()}
        return comparable(asked, matched, known, kept_modes(config, reader))


def _result(config: Config, proof: Proof) -> dict[str, Any]:
    """The proof as plain values, with the last time that each table was proven equal."""
    result = as_result(proof)
    known = {each["table"]: each for each in kept(config)}
    for table in result["tables"]:
        last = known[table["table"]]
        table["last_equal"] = {
            "sequence": last["equal_sequence"],
            "at_ms": last["equal_at_ms"],
        }
    return result


def prove_with(
    session: Session,
    config: Config,
    log: SqliteLog,
    tables: tuple[TableId, ...],
    bounds: Bounds,
    progress: Progress = lambda _step: None,
) -> Proof:
    """The proof of tables that the log knows, through a session that is open; it is kept."""
    from headwater.app.proof.spark_side import SparkTables

    reader = log.reader()
    try:
        newest = {schema.table: schema for _, schema in reader.schemas()}
        # Claims first: what the cursors say of tables that are opened later is true of these.
        claims = CursorPlaces(config.log.path, CONSUMER).claims()
        verifier = Verifier(
            reader,
            SparkTables(applied_tables(session, config, reader), claims),
            clock=SystemClock(),
            bounds=bounds,
        )
        chosen = [newest[table] for table in tables]
        proof = verified(verifier, chosen, source_rows(config, log), progress)
        _keep(log, config, proof)
        return proof
    finally:
        reader.close()


def _keep(log: SqliteLog, config: Config, proof: Proof) -> None:
    if config.spark is not None:
        found = [
            Compared(each.table, each.equal, each.compared.source.rows, each.compared.source.hash)
            for each in proof.tables
        ]
        keep(log, config.spark, proof.sequence, found)


def applied_to(session: Session, config: Config, log: SqliteLog) -> Callable[[str], int]:
    """How far each table has come, whenever one asks."""
    with closing(log.reader()) as reader:
        schemas = {str(schema.table): schema for _, schema in reader.schemas()}
        tables = applied_tables(session, config, reader)

    def sequence(table: str) -> int:
        found = tables.read(schemas[table])
        return 0 if found is None else found.sequence

    return sequence


def applied_tables(session: Session, config: Config, log: LogReader) -> AppliedTables:
    """The tables that a configuration keeps of a log, seen from outside."""
    from headwater.app.spark.targets import targets_of
    from headwater.spark.proof.applied import AppliedTables

    settings = config.spark
    if settings is None:
        raise ValueError("the configuration has no spark section")
    targets = targets_of(settings.table_format, settings.target, log.log_id)
    return AppliedTables(session, settings.target, targets, kept_modes(config, log))


def kept_modes(config: Config, log: LogReader) -> Modes:
    """Which tables a configuration keeps of a log, and how."""
    if config.spark is None:
        raise ValueError("the configuration has no spark section")
    return table_job(config, config.spark).kept().knowing(log)


def source_rows(config: Config, log: SqliteLog) -> OpenRows:
    """How to read the source of a configuration, at one moment."""
    url = config.source.url
    if url.server is not None:
        from headwater.app.postgres_settings import postgres_config

        settings = postgres_config(url, source_options(config))
        from headwater.app.postgres.rows import postgres_rows

        return lambda: postgres_rows(settings, lambda: log.info().position)
    from headwater.app.sqlite_rows import sqlite_rows

    path = sqlite_path(url)
    return lambda: sqlite_rows(path, lambda: log.info().position)


def verified(
    verifier: Verifier,
    schemas: Sequence[TableSchema],
    open_rows: OpenRows,
    progress: Progress = lambda _step: None,
) -> Proof:
    """The proof; read again where the source's moment is no event of the log."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return verifier.verify(schemas, open_rows, progress)
        except TransientError as exc:
            if exc.code != "verify-unordered":
                raise
    return verifier.verify(schemas, open_rows, progress)
