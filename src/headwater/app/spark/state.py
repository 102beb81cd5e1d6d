"""`headwater spark as-of`: the versions of a configuration's tables at one position."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.config import load_config
from headwater.app.spark.checkpoint import require_spark
from headwater.app.spark.loop import CONSUMER, session_factory
from headwater.log import SqliteLog

if TYPE_CHECKING:
    from headwater.spark.state.as_of import AsOf


def tables_as_of(file: Path, sequence: int | None) -> dict[str, Any]:
    """The set of tables, as plain values."""
    config = load_config(file)
    settings = require_spark(file, config.spark)
    with closing(SqliteLog(config.log.path).reader()) as reader:
        log_id = reader.log_id
    with session_factory(settings)() as session:
        from headwater.app.spark.versions import as_of

        found = as_of(session, settings.target, sequence, consumer=CONSUMER, log_id=log_id)
        return as_result(found)


def as_result(found: AsOf) -> dict[str, Any]:
    """Plain values, with the SQL of each table."""
    moment = datetime.fromtimestamp(found.committed_at_us / 1e6, UTC)
    return {
        "sequence": found.sequence,
        "committed_at": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "tables": [
            {
                "table": each.table,
                "mode": each.mode,
                "path": each.path,
                "version": each.version,
                "sequence": each.sequence,
                "view": each.view,
                "sql": each.sql,
            }
            for each in found.tables
        ],
    }
