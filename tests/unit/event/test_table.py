"""Table versions: identity by content, and a text form that reads back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from headwater.event import Column, ForeignKey, LogicalType, TableId, TableSchema

ORDERS = TableSchema(
    table=TableId("main", "orders"),
    columns=(
        Column("id", LogicalType.parse("int64"), nullable=False, declared="INTEGER"),
        Column("total", LogicalType.parse("decimal(10,2)"), declared="NUMERIC(10,2)"),
        Column("twice", LogicalType.parse("dynamic"), generated=True),
    ),
    primary_key=("id",),
    foreign_keys=(ForeignKey(("total",), TableId(None, "ä"), ("x",), on_delete="CASCADE"),),
)


SCHEMA_ID = 1_432_773_806_339_815_852


def test_schema_is_the_same_when_read_from_its_text() -> None:
    again = TableSchema.from_dict(json.loads(ORDERS.encode()))
    assert again == ORDERS
    assert again.schema_id == ORDERS.schema_id


def test_schema_id_is_stable_across_releases() -> None:
    # A changed number here orphans every schema_id that logs already hold.
    assert ORDERS.schema_id == SCHEMA_ID


def test_schema_id_changes_when_anything_of_the_shape_does() -> None:
    changes = [
        replace(ORDERS, table=TableId(None, "orders")),
        replace(ORDERS, columns=ORDERS.columns[::-1]),
        replace(ORDERS, columns=(replace(ORDERS.columns[0], nullable=True), *ORDERS.columns[1:])),
        replace(ORDERS, primary_key=()),
        replace(ORDERS, foreign_keys=()),
    ]
    ids = {schema.schema_id for schema in [ORDERS, *changes]}
    assert len(ids) == len(changes) + 1
    assert all(0 < schema_id < 2**63 for schema_id in ids)


def test_column_is_found_by_name() -> None:
    assert ORDERS.column("total") is ORDERS.columns[1]
    assert ORDERS.column("none") is None


def test_table_id_prints_its_schema_when_it_has_one() -> None:
    assert str(TableId("main", "orders")) == "main.orders"
    assert str(TableId(None, "orders")) == "orders"


@pytest.mark.parametrize(
    ("schema", "name", "globs", "expected"),
    [
        ("shop", "orders", ("orders",), True),
        ("shop", "Orders", ("ORDERS",), True),
        ("Shop", "orders", ("shop.OR*",), True),
        ("hr", "orders", ("shop.orders",), False),
        # Without a dot only the name counts, or the schema's own name would choose its tables.
        ("shop", "people", ("shop*",), False),
        (None, "orders", ("ord?rs",), True),
        (None, "orders", ("shop.orders",), False),
        (None, "order.lines", ("order.lines",), True),
        ("shop", "orders", ("people", "*.orders"), True),
        ("shop", "orders", (), False),
    ],
)
def test_table_matches_by_name_or_by_schema_and_name_when_compared_with_globs(
    schema: str | None, name: str, globs: tuple[str, ...], *, expected: bool
) -> None:
    assert TableId(schema, name).matches(globs) is expected
