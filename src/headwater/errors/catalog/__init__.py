"""Every error code: stable, with its meaning and its fix. One file per room."""

from __future__ import annotations

from headwater.errors.catalog import (
    app,
    checkpoint,
    event,
    files,
    formats,
    ground,
    log,
    postgres,
    registry,
    runtime,
    sink,
    source,
    spark,
    spark_state,
    testkit,
)
from headwater.errors.catalog.entry import CodeEntry

CATALOG: dict[str, CodeEntry] = {
    **ground.ENTRIES,
    **event.ENTRIES,
    **log.ENTRIES,
    **checkpoint.ENTRIES,
    **runtime.ENTRIES,
    **source.ENTRIES,
    **postgres.ENTRIES,
    **formats.ENTRIES,
    **registry.ENTRIES,
    **files.ENTRIES,
    **sink.ENTRIES,
    **spark.ENTRIES,
    **spark_state.ENTRIES,
    **app.ENTRIES,
    **testkit.ENTRIES,
}


def explain(code: str) -> CodeEntry | None:
    """The catalog entry of a code, or None."""
    return CATALOG.get(code)


__all__ = ["CATALOG", "CodeEntry", "explain"]
