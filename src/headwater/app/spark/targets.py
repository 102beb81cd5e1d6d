"""Where tables are, and in which format."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.delta_files import KnownFiles
from headwater.spark.table.iceberg import IcebergTargets

TableFormat = Literal["delta", "iceberg", "parquet"]


def targets_of(
    table_format: TableFormat, location: str, log_id: str, known: KnownFiles | None = None
) -> DeltaTargets | IcebergTargets | None:
    """The tables of a format; None for Parquet, which has folders of changes and no tables."""
    match table_format:
        case "delta":
            return DeltaTargets(location, log_id, known or KnownFiles())
        case "iceberg":
            return IcebergTargets(location, log_id)
        case "parquet":
            return None


def location_of(target: str) -> str:
    """A target as Spark needs it: a URI as given, a path made absolute."""
    place = target.rstrip("/")
    return place if "://" in place else str(Path(place).resolve())
