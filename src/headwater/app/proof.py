"""`headwater verify`: the proof for a configuration, with Spark's tables as the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.config import Config, load_config
from headwater.app.database import sqlite_path
from headwater.app.inspect import writer_of
from headwater.app.options import source_options
from headwater.app.registry import open_log
from headwater.app.source_tables import source_tables
from headwater.app.spark_loop import session_factory
from headwater.app.tables import choose_tables
from headwater.app.verify import Proof, SourceRows, Verifier
from headwater.errors import ConfigError, TransientError
from headwater.event import TableId, TableSchema
from headwater.log import SqliteLog
from headwater.observe import SystemClock

if TYPE_CHECKING:
    from headwater.spark.proof.applied import Session

# Without a capture process the log will not move: waiting long for it would only hide that.
_IDLE_TIMEOUT_S = 2.0
_ATTEMPTS = 4

OpenRows = Callable[[], AbstractContextManager[SourceRows]]


def prove(file: Path, patterns: tuple[str, ...], *, timeout_s: float) -> dict[str, Any]:
    """Compare the tables of a configuration; plain values."""
    config = load_config(file)
    settings = config.spark
    if settings is None:
        raise ConfigError(
            "verify-no-target",
            "the configuration has no spark section, so there are no tables to compare",
            where=str(file),
        )
    known = source_tables(config)
    tables = choose_tables(patterns, config.source.exclude, known, "--tables")
    log = open_log(config.log.path)
    log.info()  # a missing log is said before Spark is started
    running = writer_of(config.log.path) is not None
    patience_s = timeout_s if running else min(timeout_s, _IDLE_TIMEOUT_S)
    with session_factory(settings)() as session:
        return as_result(prove_with(session, config, log, tables, timeout_s=patience_s))


def prove_with(
    session: Session,
    config: Config,
    log: SqliteLog,
    tables: tuple[TableId, ...],
    *,
    timeout_s: float,
    progress: Callable[[str], None] = lambda _step: None,
) -> Proof:
    """The proof through a session that is open."""
    from headwater.app.spark import targets_of
    from headwater.app.spark_rows import SparkRows
    from headwater.spark.modes import Modes
    from headwater.spark.proof.applied import AppliedTables
    from headwater.spark.proof.rows import as_stored

    settings = config.spark
    if settings is None:
        raise ValueError("the configuration has no spark section")
    reader = log.reader()
    try:
        newest = {schema.table: schema for _, schema in reader.schemas()}
        modes = Modes(settings.mode, settings.modes.by_mode())
        targets = targets_of(settings.table_format, settings.target, reader.log_id)
        tables_there = AppliedTables(session, settings.target, targets, modes)
        verifier = Verifier(
            reader,
            SparkRows(tables_there),
            clock=SystemClock(),
            timeout_s=timeout_s,
            stored=lambda row, schema: as_stored(dict(row), schema),
        )
        shown = [table for table in tables if tables_there.shows_rows(table)]
        if tables and not shown:
            raise ConfigError(
                "verify-no-target",
                "the tables are kept as append logs, which hold events and no rows to compare",
                hint="keep a mirror beside them: spark.modes.mirror",
            )
        chosen = [newest[table] for table in shown if table in newest]
        return verified(verifier, chosen, source_rows(config, log), progress)
    finally:
        reader.close()


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
    progress: Callable[[str], None] = lambda _step: None,
) -> Proof:
    """The proof; read again where the source's moment is no event of the log."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return verifier.verify(schemas, open_rows, progress)
        except TransientError as exc:
            if exc.code != "verify-unordered":
                raise
    return verifier.verify(schemas, open_rows, progress)


def as_result(proof: Proof) -> dict[str, Any]:
    """The proof as plain values, with its sentence."""
    tables = [table.as_dict() for table in proof.tables]
    rows = sum(table.source_count for table in proof.tables)
    wrong = [table.table for table in proof.tables if not table.equal]
    moment = f"at event {proof.sequence:,}"
    summary = (
        f"{len(tables)} tables with {rows:,} rows equal their source {moment}"
        if not wrong
        else f"{len(wrong)} of {len(tables)} tables differ from their source {moment}"
    )
    return {
        "equal": proof.equal,
        "sequence": proof.sequence,
        "summary": summary,
        "tables": tables,
    }
