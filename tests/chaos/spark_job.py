"""The job in which drivers are killed, and which a test ends: every table in every mode."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.app.spark import TableFormat, TableJob
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.modes import MODES, Mode
from headwater.spark.table.parquet import SnapshotPolicy
from tests.chaos.worker import Place


def job_of(
    place: Place,
    table_format: TableFormat,
    *,
    max_events: int,
    tables: Sequence[str] = (),
    modes: Sequence[Mode] = MODES,
    eager: bool = False,
) -> TableJob:
    """No table is every one. Parquet has one mode, and its rows are written out at once.

    Who is to be killed in upkeep is `eager`: any table has more files and older ones than it bears.
    """
    return TableJob(
        place.log,
        str(place.directory / "tables"),
        table_format,
        tables=tuple(tables),
        max_events=max_events,
        modes={} if table_format == "parquet" else dict.fromkeys(modes, ("*",)),
        maintenance=KeepPolicy(surplus=-2, retain_s=0) if eager else KeepPolicy(),
        snapshots=SnapshotPolicy(every=1),
    )
