"""The section for CDC Format 1.0: what tables are, what is told of them, and what is folded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from headwater.app.config.quantity import Size
from headwater.app.config.scalar import Bool, FilePath, Int, Text
from headwater.app.config.section import Section

Word = Annotated[Text, Field(min_length=1)]
Words = tuple[Word, ...]
OperationWord = Literal["CREATE", "UPDATE", "DELETE"]


class EntitySettings(Section):
    """What the rows of one table are."""

    table: Annotated[Word, Field(description="The table, or schema.table")]
    type: Annotated[Word | None, Field(description="Its entity; default from the name")] = None
    id: Annotated[Words, Field(description="Columns of the id; default the key")] = ()
    identifier: Annotated[Word | None, Field(description="Column that people know it by")] = None
    tenant: Annotated[Word | None, Field(description="Column of the tenant")] = None
    version: Annotated[Word | None, Field(description="Column that counts its versions")] = None
    soft_delete: Annotated[
        Word | None, Field(description="Column that marks a soft delete; null for none")
    ] = "deleted_at"
    deleted_when: Annotated[
        tuple[Bool | Int | Text, ...],
        Field(description="Values that mean deleted; default any but null"),
    ] = ()
    soft_delete_as: Annotated[
        Literal["updated", "deleted"], Field(description="Event type of a soft delete")
    ] = "updated"
    invalidates: Annotated[Words, Field(description="Queries that a change makes stale")] = ()


class Selection(Section):
    """What the format's specification lets a schema say about capture."""

    entities: Annotated[Words, Field(description="Entities to tell of; default all")] = ()
    exclude_entities: Annotated[Words, Field(description="Entities to leave out; wins")] = ()
    operations: Annotated[
        tuple[OperationWord, ...], Field(description="Operations to tell of; default all")
    ] = ()
    exclude_operations: Annotated[
        tuple[OperationWord, ...], Field(description="Operations to leave out; wins")
    ] = ()


class CdcSettings(Selection):
    """What events of CDC Format 1.0 say, for every sink whose format is cdc-format."""

    schema_file: Annotated[
        FilePath | None,
        Field(description="CompiledSchema JSON; its cdc section holds where this one is silent"),
    ] = None
    schema_name: Annotated[
        Word | None, Field(description="schema_name of the events; default the source's name")
    ] = None
    instance: Annotated[Word | None, Field(description="source.instance of the events")] = None
    region: Annotated[Word | None, Field(description="source.region of the events")] = None
    cascade: Annotated[Bool, Field(description="Tell in an event what else its change changed")] = (
        True
    )
    granularity: Annotated[
        Literal["row", "atomic"],
        Field(description="An event per row, or per mutation: rows that followed stand in it"),
    ] = "row"
    cascade_limit: Annotated[
        Int | None,
        Field(ge=1, description="Entities that one event lists at most; default all"),
    ] = None
    cascade_memory: Annotated[
        Size,
        Field(description="What working out a large transaction holds in memory; more is a file"),
    ] = Size(64 << 20)
    tables: Annotated[
        tuple[EntitySettings, ...], Field(description="What tables are, beyond their names")
    ] = ()

    @model_validator(mode="after")
    def _consistent(self) -> CdcSettings:
        names = [each.table for each in self.tables]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the table {', '.join(twice)} is described twice")
        if self.granularity == "atomic" and not self.cascade:
            raise ValueError("without cascade nothing can be folded: granularity needs to be row")
        return self


class CompiledCdc(Selection):
    """The cdc section of a CompiledSchema."""

    enabled: Bool = True
    storage: Literal["postgres_wal", "event_table", "kafka"] = "postgres_wal"
    retention_days: Annotated[Int | None, Field(ge=1)] = None
    batch_size: Annotated[Int | None, Field(ge=1)] = None
