"""Names of tables in a mode, as places of parked tables have them."""

import pytest

from headwater.event import TableId
from headwater.spark.modes import name_of, named


@pytest.mark.parametrize(
    "table",
    [
        TableId(None, "orders"),
        TableId("public", "orders"),
        TableId("public", "orders.2026"),
        TableId("odd.schema", "orders"),
        TableId(None, "a@b"),
    ],
)
def test_name_means_the_table_that_it_was_made_of(table: TableId) -> None:
    tables, mode = named(name_of(table, "scd2"))
    assert mode == "scd2"
    assert table in tables
    assert {str(each) for each in tables} == {str(table)}
