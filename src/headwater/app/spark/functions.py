"""Functions on frames of events that need more than Spark: a log, or what a format derives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from headwater.app.cdc_recipe import CdcRecipe
from headwater.app.registry import open_log
from headwater.app.suggest import closest
from headwater.contract import SchemaHistory
from headwater.errors import ConfigError
from headwater.event import TableSchema
from headwater.format.cdcformat.known import KnownSchemas
from headwater.format.cdcformat.touched import TOUCHED_BY, touched_fields
from headwater.spark.change.kinds import JsonAs
from headwater.spark.functions import auto_cdc, columns, latest
from headwater.spark.functions import entities as families
from headwater.spark.functions import typed as images

Tables = Path | str | SchemaHistory


def changed_fields(events: DataFrame) -> DataFrame:
    """The events with a column `changed_fields`: names in column order.

    An insert or a delete touches every column that it has, an update those that are not the same
    on both sides. A column that was not sent is not touched; one that only the image after has may
    be. It is the derivation that CDC Format 1.0 has in the capture process.
    """
    return columns.with_column(
        events, "changed_fields", touched_fields, "array<string>", TOUCHED_BY
    )


def entities(
    events: DataFrame,
    cdc: Mapping[str, Any] | None = None,
    *,
    log: Path | str,
    tables: Sequence[str] = ("*",),
) -> DataFrame:
    """The records of CDC Format 1.0, with cascades, as the capture process writes them.

    - `cdc`: the settings of a `cdc` section, such as `{"granularity": "atomic"}`.
    - `log`: the log that knows the tables and their foreign keys; every executor must reach it.
    - `tables`: globs of the tables that are told of.
    """
    recipe = CdcRecipe.of(cdc or {}, str(Path(log).resolve()), tables)
    with recipe.open():  # a log that is not there is told here, and not by a task that failed
        return families.entities(events, recipe)


def latest_per_key(events: DataFrame, table: str, *, log: Tables) -> DataFrame:
    """The last change of each key of a table, with typed columns; for batches.

    - `table`: its name, with its schema where the database has schemas.
    - `log`: the log that knows the table: its path, or a reader.
    """
    history = _known(log)
    return latest.latest_per_key(events, _schema(history, table), history)


def typed(events: DataFrame, table: str, *, log: Tables, json_as: JsonAs = "string") -> DataFrame:
    """The events of a table, with `before` and `after` as structs of typed columns.

    - `log`: the log that knows the table: its path, or a reader. Columns are those of its newest
      shape, and older events are read as that shape, through renames.
    - `json_as`: what columns of JSON and of no declared type become: text, or `variant`.
    """
    history = _known(log)
    return images.typed(events, _schema(history, table), history, json_as)


def auto_cdc_source(events: DataFrame, table: str, *, log: Tables) -> DataFrame:
    """The changes of a table's rows as `create_auto_cdc_flow` of Spark's pipelines takes them.

    Typed columns, `_headwater_sequence` for `sequence_by`, and `_headwater_deleted` for
    `apply_as_deletes`.
    """
    history = _known(log)
    return auto_cdc.auto_cdc_source(events, _schema(history, table), history)


def _known(log: Tables) -> KnownSchemas:
    if not isinstance(log, Path | str):
        return KnownSchemas.of(log)
    with closing(open_log(log).reader()) as reader:
        return KnownSchemas.of(reader)


def _schema(history: KnownSchemas, table: str) -> TableSchema:
    """The newest shape of the table that is meant, and no other."""
    newest = {schema.table: schema for _, schema in history.schemas()}
    found = [each for each in newest if table in (str(each), each.name)]
    if len(found) == 1:
        return newest[found[0]]
    if found:
        raise ConfigError(
            "table-unknown",
            f"{table!r} may be any of {', '.join(sorted(map(str, found)))}",
            hint="give the schema too",
        )
    near = closest(table, map(str, newest))
    raise ConfigError(
        "table-unknown",
        f"the log knows no table {table!r}",
        hint=f"did you mean {near}?" if near else "headwater schema show lists them",
    )
