"""Shapes of a table in a word each, and what is planned for them."""

from __future__ import annotations

from headwater.event import Column, LogicalType, TableId, TableSchema
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.lineage import Held
from headwater.spark.policy import Policy, SchemaPolicy
from headwater.spark.table.evolution import Keeping, Plan, planned
from headwater.spark.table.refusal import Refusal
from headwater.spark.table.shape import TableShape, memory_of, remembered

ITEMS = TableId(None, "items")


def column(text: str) -> Column:
    """`name:type`, with `#number` where the database gave one and `!` for NOT NULL."""
    declared, _, number = text.partition("#")
    name, _, kind = declared.removesuffix("!").partition(":")
    return Column(
        name,
        LogicalType.parse(kind),
        nullable=not declared.endswith("!"),
        number=int(number) if number else None,
    )


def shape(text: str, key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema(ITEMS, tuple(map(column, text.split())), key)


def table(text: str) -> TableShape:
    """A table that we made of a shape; a column is known by the name that it had then."""
    made = shape(text)
    columns = [Held(each.name, stored_type(each.type), each.name) for each in made.columns]
    return remembered(columns, memory_of(made))


def plan(
    policy: Policy,
    held: TableShape | None,
    *shapes: str,
    history: bool = False,
    drops: bool = False,
) -> Plan:
    chosen = SchemaPolicy(policy, on_drop="drop" if drops else "keep")
    keeping = Keeping(history=history, keyed=(shape(shapes[-1]),))
    found = planned(chosen, [shape(each) for each in shapes], held, keeping)
    assert isinstance(found, Plan), found
    return found


def refusal(policy: Policy, held: TableShape | None, *shapes: str) -> Refusal:
    made = [shape(each) for each in shapes]
    found = planned(SchemaPolicy(policy), made, held, Keeping(keyed=tuple(made)))
    assert isinstance(found, Refusal), found
    return found


def tails(found: Plan | Refusal) -> list[str]:
    steps = found.alterations if isinstance(found, Plan) else found.fixes
    return [each.on("t").replace("`", "").removeprefix("ALTER TABLE t ") for each in steps]


def read_as(found: Plan, text: str) -> dict[str, str]:
    """Names of the table's columns, and of those that a shape has for them."""
    return {name: each.name for name, each in found.readings()[shape(text).schema_id].items()}
