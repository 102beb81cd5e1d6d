"""Events as the records of any format and back, on frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from headwater.app.format_recipe import FormatRecipe
from headwater.app.spark.native import native_schema
from headwater.errors import ConfigError
from headwater.spark.functions import formats
from headwater.spark.functions.native import decode_avro


def encode(
    events: DataFrame,
    name: str,
    *,
    log: Path | str | None = None,
    registry: Mapping[str, str] | None = None,
) -> DataFrame:
    """The records of events as `format("headwater")` reads them: `key`, `value` and `headers`.

    - `name`: a format's name, such as `opencdc`.
    - `log`: the log that knows the tables, for typed rows; every executor must reach it.
    - `registry`: the settings of a schema registry, as in a configuration file.
    """
    return formats.encode(events, _recipe(name, log, registry))


def decode(
    records: DataFrame,
    name: str,
    *,
    log: Path | str | None = None,
    registry: Mapping[str, str] | None = None,
    native: bool = False,
) -> DataFrame:
    """The events of records in a column `value`, with `key` and `headers` where they are there.

    - `native`: read `headwater-avro` by Spark's own `from_avro`: at half the cost in large
      batches, and with fewer checks. The session needs its jar: `spark_session(avro=True)`.
    """
    if native and registry is None:
        return decode_avro(records, native_schema(name))
    if native:
        raise ConfigError("spark-native", "Spark's own functions know no registry")
    return formats.decode(records, _recipe(name, log, registry))


def _recipe(name: str, log: Path | str | None, registry: Mapping[str, str] | None) -> FormatRecipe:
    recipe = FormatRecipe(
        name,
        None if log is None else str(Path(log).resolve()),
        None if registry is None else tuple(registry.items()),
    )
    with recipe.open():  # a wrong name or setting is told here, and not by a task that failed
        return recipe
