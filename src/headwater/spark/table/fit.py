"""Changes of several shapes as rows of one: columns are known by their numbers, not their names."""

from __future__ import annotations

from dataclasses import replace

from headwater.contract import SchemaHistory
from headwater.event import TableSchema
from headwater.spark.change.changes import TableChanges
from headwater.spark.change.reading import Readings
from headwater.spark.table.evolution import Plan, as_newest


def in_one_shape(changes: TableChanges) -> TableChanges:
    """The changes as rows of a table that begins with them."""
    return fitted(changes, as_newest([each.schema for each in changes.shapes]))


def fitted(changes: TableChanges, plan: Plan) -> TableChanges:
    """The changes as rows of the table that a plan makes."""
    schema = TableSchema(changes.schema.table, plan.columns(), plan.key)
    return replace(changes, schema=schema, readings=plan.readings())


def readings_as(schema: TableSchema, history: SchemaHistory) -> Readings:
    """How every shape that a history knows of the table tells the columns of one of them."""
    shapes = [each for _, each in history.schemas() if each.table == schema.table]
    return as_newest([*shapes, schema]).readings()
