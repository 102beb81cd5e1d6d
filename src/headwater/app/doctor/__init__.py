"""Checks of the machine and of one pipeline: each with a code, a severity, evidence and a fix.

machine.py looks at Python, SQLite, Java, Spark and the disk; pipeline.py at what a configuration
names: database, capture, log, target, port; postgres/ at a PostgreSQL server. Nothing is changed by
looking.
"""

from __future__ import annotations

from pathlib import Path

from headwater.app.config import load_config
from headwater.app.doctor.machine import machine_checks
from headwater.app.doctor.pipeline import pipeline_checks
from headwater.app.finding import Finding
from headwater.errors import HeadwaterError

__all__ = ["diagnose"]


def diagnose(file: Path | None) -> list[Finding]:
    """Everything that can be checked; a check that cannot run is itself a finding."""
    if file is None:
        return machine_checks(needs_spark=False)
    try:
        config = load_config(file)
    except HeadwaterError as exc:
        return [
            *machine_checks(needs_spark=False),
            Finding.of("configuration", exc),
        ]
    spark = config.spark
    return [
        *machine_checks(
            needs_spark=spark is not None,
            table_format="parquet" if spark is None else spark.table_format,
        ),
        Finding("configuration", "ok", f"{file} is valid"),
        *pipeline_checks(config),
    ]
