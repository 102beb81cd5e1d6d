"""All tables of a target at one position of the source."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headwater.app.spark.targets import location_of
from headwater.spark.classic import require_classic
from headwater.spark.state import as_of as state_as_of
from headwater.spark.state.as_of import AsOf
from headwater.spark.table.iceberg import CATALOG_PREFIX


def as_of(
    spark: SparkSession,
    target: Path | str,
    sequence: int | None = None,
    *,
    consumer: str = "spark",
    log_id: str | None = None,
) -> AsOf:
    """Every table below `target` at the newest published position up to `sequence`.

    - `target`: as `TableJob` has it: a path or URI, or `catalog:NAME.NAMESPACE`.
    - `sequence`: an event of the log; None is the newest published position.
    - `consumer`: of the job that keeps the tables.
    - `log_id`: whose numbers they are, if several logs wrote there; else the one that wrote last.
    """
    require_classic(spark)
    place = str(target)
    location = place if place.startswith(CATALOG_PREFIX) else location_of(place)
    return state_as_of.as_of(spark, location, sequence, consumer=consumer, log_id=log_id)
