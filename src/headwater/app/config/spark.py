"""The section for Spark: which tables it keeps, where, and in which modes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from headwater.app.config.quantity import Duration
from headwater.app.config.scalar import Bool, Int, Target, Text, Trigger
from headwater.app.config.section import EVERY_TABLE, Globs, Section
from headwater.spark.modes import MODES, Mode


class ModeSettings(Section):
    """Tables by what is kept of them; a table may stand in several lists."""

    mirror: Annotated[Globs, Field(description="Tables kept equal to the source")] = ()
    soft_delete: Annotated[Globs, Field(description="The same, with deleted rows marked")] = ()
    scd2: Annotated[Globs, Field(description="Tables of which every version is kept")] = ()
    append_log: Annotated[Globs, Field(description="Tables of which every event is kept")] = ()

    def by_mode(self) -> dict[Mode, Globs]:
        """The lists that name a table."""
        lists: dict[Mode, Globs] = {mode: getattr(self, mode) for mode in MODES}
        return {mode: globs for mode, globs in lists.items() if globs}


class SnapshotSettings(Section):
    """The rows of Parquet tables, written out beside their changes."""

    every: Annotated[Int | None, Field(ge=1, description="After so many batches; null: never")] = 50
    keep_changes: Annotated[
        Bool, Field(description="Whether changes stay that two snapshots hold")
    ] = True


class SparkSettings(Section):
    """Tables that Spark keeps equal to the source."""

    target: Annotated[Target, Field(min_length=1, description="Directory or URI of the tables")]
    table_format: Annotated[
        Literal["delta", "iceberg", "parquet"],
        Field(
            description="delta has every mode; iceberg too, on Spark 4.1; parquet appends every"
            " change and needs no jar"
        ),
    ] = "delta"
    mode: Annotated[Mode, Field(description="What is kept of a table that modes does not name")] = (
        "mirror"
    )
    modes: Annotated[ModeSettings, Field(description="What is kept of which tables")] = (
        ModeSettings()
    )
    snapshots: Annotated[SnapshotSettings, Field(description="Rows of Parquet tables")] = (
        SnapshotSettings()
    )
    trigger: Annotated[
        Trigger,
        Field(description="Time between micro-batches, or available_now to catch up and stop"),
    ] = Duration(5000)
    tables: Annotated[Globs, Field(min_length=1, description="Tables to apply")] = EVERY_TABLE
    master: Annotated[Text, Field(description="Spark master URL")] = "local[2]"

    @model_validator(mode="after")
    def _modes_need_delta(self) -> SparkSettings:
        chosen = self.mode != "mirror" or bool(self.modes.by_mode())
        if self.table_format == "parquet" and chosen:
            raise ValueError(
                "parquet only appends changes: leave mode and modes out, or set table_format: delta"
            )
        return self
