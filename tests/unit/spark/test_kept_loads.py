"""Which loads a stream brings to their end: those of its tables, by the names of the log."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import SparkSession

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.loads import Loads
from headwater.spark.apply.typed_reads import TypedReads
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import TablePolicy

ID = (Column("id", LogicalType(Kind.INT64)),)
ORDERS, OTHERS = TableId("public", "orders"), TableId("public", "others")
SESSION = cast(SparkSession, None)


class Begun:
    """A lake in which both tables are being loaded, as its folders tell it."""

    def loading(self, session: object) -> tuple[tuple[TableId, Mode], ...]:
        del session
        names = ("public.orders", "public.others", "public.never heard of")
        return tuple((TableId(None, name), "mirror") for name in names)

    def open(self, session: object, table: TableId, mode: Mode) -> Any:
        raise NotImplementedError(session, table, mode)


class History:
    """A log that owes rows of some tables."""

    def __init__(self, *owed: TableId) -> None:
        self.owed = owed

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        return tuple((1, TableSchema(each, ID, ("id",))) for each in (ORDERS, OTHERS))

    def schema(self, schema_id: int) -> TableSchema:
        raise NotImplementedError(schema_id)

    def owes(self, table: TableId, until: int) -> bool:
        del until
        return table in self.owed

    def loads(self) -> int:
        return 0


def _over(history: History, modes: Modes) -> list[tuple[TableId, Mode]]:
    loads = Loads(Begun(), history, Evolution(), {}, TypedReads(None), TablePolicy())
    return loads.over(SESSION, 1000, modes)


def test_load_of_a_table_that_the_stream_does_not_keep_is_left_alone() -> None:
    """Its events do not come here: switched in now, it would lack them for ever."""
    assert _over(History(), Modes(tables=("orders",))) == [(ORDERS, "mirror")]
    assert _over(History(), Modes(default="scd2")) == []
    assert _over(History(ORDERS), Modes()) == [(OTHERS, "mirror")]


def test_load_is_told_by_the_name_that_the_log_has_for_its_table() -> None:
    """A folder does not say where the schema ends; two names would be two tables in the state."""
    assert _over(History(), Modes()) == [(ORDERS, "mirror"), (OTHERS, "mirror")]
