"""The section for Spark: which tables it keeps, where, and in which modes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from headwater.app.config.quantity import Duration, Size
from headwater.app.config.scalar import Bool, Int, Target, Text, Trigger
from headwater.app.config.section import EVERY_TABLE, Globs, Section
from headwater.spark.apply.parking import OnTableError
from headwater.spark.modes import MODES, Mode
from headwater.spark.policy import (
    OnAdd,
    OnDrop,
    OnDropTable,
    OnNoKey,
    OnTruncate,
    Policy,
    SchemaPolicy,
    TablePolicy,
)


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


class MaintenanceSettings(Section):
    """Looking after the files of tables, between micro-batches."""

    compact: Annotated[bool, Field(description="Write small files together")] = True
    target_file_size: Annotated[Size, Field(description="How large files should become")] = Size(
        128 * 1024**2
    )
    surplus_files: Annotated[
        int,
        Field(ge=1, description="Files beyond twice as many as needed that call for a compaction"),
    ] = 32
    retain: Annotated[
        Duration | None,
        Field(description="Remove files that only versions older than this need"),
    ] = Duration(7 * 24 * 3600 * 1000)


class SchemaSettings(Section):
    """What tables do when the source changes its columns."""

    policy: Annotated[
        Policy,
        Field(description="evolve follows; lenient adds and widens; freeze adds nothing; halt"),
    ] = "evolve"
    on_add_column: Annotated[
        OnAdd, Field(description="backfill reads the values of existing rows in a new column")
    ] = "ignore"
    on_drop_column: Annotated[
        OnDrop, Field(description="drop takes the column out of mirrors; histories keep it")
    ] = "keep"
    mistyped_as_null: Annotated[
        Globs, Field(description="Tables that take a value not of its column's type as NULL")
    ] = ()

    @model_validator(mode="after")
    def _only_evolve_drops(self) -> SchemaSettings:
        if self.on_drop_column == "drop" and self.policy != "evolve":
            raise ValueError(f"policy {self.policy} drops no column: leave on_drop_column out")
        return self

    def as_policy(self) -> SchemaPolicy:
        """The same, as Spark's room has it."""
        return SchemaPolicy(
            self.policy, self.on_add_column, self.on_drop_column, self.mistyped_as_null
        )


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
    columns: Annotated[
        SchemaSettings,
        Field(alias="schema", description="What tables do when the source changes its columns"),
    ] = SchemaSettings()
    snapshots: Annotated[SnapshotSettings, Field(description="Rows of Parquet tables")] = (
        SnapshotSettings()
    )
    trigger: Annotated[
        Trigger,
        Field(description="Time between micro-batches, or available_now to catch up and stop"),
    ] = Duration(5000)
    tables: Annotated[Globs, Field(min_length=1, description="Tables to apply")] = EVERY_TABLE
    on_truncate: Annotated[
        OnTruncate,
        Field(description="apply empties the table too; ignore leaves its rows; halt stops it"),
    ] = "apply"
    on_drop_table: Annotated[
        OnDropTable,
        Field(description="keep leaves the rows; empty is as by a truncate; halt stops the table"),
    ] = "keep"
    on_no_key: Annotated[
        OnNoKey,
        Field(description="Tables without a primary key: refuse, append_log, or skip them"),
    ] = "refuse"
    on_table_error: Annotated[
        OnTableError,
        Field(description="park: the other tables go on without it; halt: the stream ends"),
    ] = "park"
    tables_at_once: Annotated[
        int, Field(ge=1, le=64, description="Tables that are written at the same time")
    ] = 4
    partitions: Annotated[
        Int | None,
        Field(ge=1, description="Tasks of each read of the log; null: one per core of the session"),
    ] = None
    maintenance: Annotated[
        MaintenanceSettings, Field(description="When files are compacted and removed")
    ] = MaintenanceSettings()
    preserve_transactions: Annotated[
        bool,
        Field(
            description="Publish tables for `spark as-of` only while all stand at one position;"
            " false: also while one is behind"
        ),
    ] = True
    master: Annotated[Text, Field(description="Spark master URL")] = "local[2]"

    @model_validator(mode="after")
    def _modes_need_delta(self) -> SparkSettings:
        chosen = self.mode != "mirror" or bool(self.modes.by_mode())
        if self.table_format == "parquet" and chosen:
            raise ValueError(
                "parquet only appends changes: leave mode and modes out, or set table_format: delta"
            )
        if self.table_format == "parquet" and self.as_table_policy() != TablePolicy():
            raise ValueError(
                "parquet appends each change, truncates too, and needs no key: leave on_truncate,"
                " on_drop_table and on_no_key out"
            )
        if self.table_format == "parquet" and self.columns != SchemaSettings():
            raise ValueError(
                "parquet only appends changes, in the shape that each has: leave schema out"
            )
        return self

    def as_table_policy(self) -> TablePolicy:
        """What becomes of tables as a whole, as Spark's room has it."""
        return TablePolicy(self.on_truncate, self.on_drop_table, self.on_no_key)
