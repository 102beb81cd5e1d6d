"""The server's numbers of columns: what tells a renamed column from a dropped and an added one.

The stream names columns and does not number them; the catalog does, but may be ahead. A column
that the catalog still has by name and type has the number that stands there. One that was renamed
since is found by its place: the stream sends columns in the order of their numbers, and no number
is given twice. Where between two known columns there are just as many numbers as columns, each has
its own. Everything else stays without a number: a wrong one would join what belongs apart.
"""

from __future__ import annotations

from headwater.source.postgres.decode.pgoutput import Relation
from headwater.source.postgres.server.catalog import TableFacts


def column_numbers(relation: Relation, facts: TableFacts | None) -> tuple[int | None, ...]:
    """The number of each column of the relation, None where it cannot be known for certain."""
    if facts is None:
        return (None,) * len(relation.columns)
    catalog = {column.name: column for column in facts.columns}
    numbers: list[int | None] = []
    for place, column in enumerate(relation.columns, start=1):
        fact = catalog.get(column.name)
        same = fact is not None and (fact.type_oid, fact.typmod) == (column.type_oid, column.typmod)
        # The columns behind it need numbers too: else its name has since changed hands.
        highest = facts.numbers_given - (len(relation.columns) - place)
        fits = fact is not None and same and place <= fact.attnum <= highest
        numbers.append(fact.attnum if fact is not None and fits else None)
    known = [number for number in numbers if number is not None]
    if known != sorted(known):  # a column was dropped and made again behind others
        return (None,) * len(relation.columns)
    unsent = {column.attnum for column in facts.columns if column.generated}
    return tuple(_by_place(numbers, unsent, facts.numbers_given))


def _by_place(numbers: list[int | None], unsent: set[int], given: int) -> list[int | None]:
    """Fill each run of unknown numbers that has no choice."""
    filled = list(numbers)
    start, lower = 0, 0
    for place, number in enumerate([*numbers, given + 1]):
        if number is None:
            continue
        free = [each for each in range(lower + 1, number) if each not in unsent]
        if len(free) == place - start:
            filled[start:place] = free
        start, lower = place + 1, number
    return filled
