"""Numbers of columns: known for certain or not at all."""

from __future__ import annotations

import pytest

from headwater.event import TableId
from headwater.source.postgres.decode.pgoutput import Relation, RelationColumn
from headwater.source.postgres.numbers import column_numbers
from headwater.source.postgres.server.catalog import ColumnFacts, TableFacts

TEXT, INT = 25, 23


def _relation(names: str) -> Relation:
    columns = tuple(RelationColumn(name, TEXT, -1, False) for name in names.split())
    return Relation(1, "public", "items", "d", columns)


def _facts(given: int, **numbers: int) -> TableFacts:
    """The catalog now: columns by number, of `given` that there ever were."""
    return TableFacts(
        oid=1,
        table=TableId("public", "items"),
        partitioned=False,
        readable=True,
        columns=tuple(
            ColumnFacts(name, number, TEXT, -1, True, name.startswith("gen"), "text")
            for name, number in sorted(numbers.items(), key=lambda each: each[1])
        ),
        primary_key=(),
        identity="d",
        identity_columns=(),
        has_identity=True,
        foreign_keys=(),
        leaves=(1,),
        estimated_rows=None,
        pages=0,
        numbers_given=given,
    )


@pytest.mark.parametrize(
    ("relation", "facts", "expected"),
    [
        ("a b", _facts(2, a=1, b=2), (1, 2)),
        ("a b", _facts(3, a=1, b=3), (1, 3)),
        # Renamed since: no other number was ever there.
        ("a b", _facts(2, a=1, c=2), (1, 2)),
        ("a b c", _facts(3, a=1, x=2, c=3), (1, 2, 3)),
        ("b c", _facts(2, x=1, y=2), (1, 2)),
        # Dropped and another one made: which number it had cannot be known for certain.
        ("a b", _facts(3, a=1, c=3), (1, None)),
        ("a b c", _facts(4, a=1, c=3, d=4), (1, 2, 3)),
        ("a b", _facts(3, a=1, gen=2, c=3), (1, 3)),
        # Dropped and made again behind others: the names mislead.
        ("a b c", _facts(4, a=4, b=2, c=3), (1, 2, 3)),
        ("a b c", _facts(6, a=4, b=2, c=3), (None, None, None)),
        # b was dropped, and c is now called b.
        ("a b c", _facts(3, a=1, b=3), (1, 2, 3)),
        ("a", None, (None,)),
    ],
)
def test_number_is_given_only_where_there_is_no_choice(
    relation: str, facts: TableFacts | None, expected: tuple[int | None, ...]
) -> None:
    assert column_numbers(_relation(relation), facts) == expected


def test_column_of_another_type_is_not_the_one_of_that_name() -> None:
    relation = Relation(1, "public", "items", "d", (RelationColumn("a", INT, -1, False),))
    assert column_numbers(relation, _facts(2, b=1, a=2)) == (None,)
