"""Numbers of columns, which SQLite does not keep: they follow from the generations.

While a table is watched a column can only be added, behind the others, or renamed where it stands:
SQLite refuses to drop one that a trigger names. So the place of a column tells which one it is. A
table that went unwatched may be another one altogether; there only what has its old name and
declared type is taken for what it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.source.sqlite.generation import Generation, Trust

Numbers = tuple[int, ...]


def column_numbers(generations: Sequence[Generation]) -> dict[int, Numbers]:
    """The numbers of the columns of each generation, by its own number."""
    found: dict[int, Numbers] = {}
    spent: dict[int, int] = {}
    by_no = {generation.capture_no: generation for generation in generations}
    for generation in sorted(generations, key=lambda each: each.capture_no):
        before = by_no.get(generation.follows) if generation.follows is not None else None
        kept: list[int | None] = [None] * len(generation.columns)
        used = 0
        if before is not None:
            kept = _kept(generation, before, found[before.capture_no])
            used = spent[before.capture_no]
        numbers = []
        for number in kept:
            used += number is None
            numbers.append(used if number is None else number)
        found[generation.capture_no] = tuple(numbers)
        spent[generation.capture_no] = used
    return found


def _kept(generation: Generation, before: Generation, numbers: Numbers) -> list[int | None]:
    if generation.trust is not Trust.BROKEN:
        added = len(generation.columns) - len(numbers)
        return [*numbers[: len(generation.columns)], *[None] * added]
    known = {
        (column.name, column.declared): number
        for column, number in zip(before.columns, numbers, strict=True)
    }
    return [known.get((column.name, column.declared)) for column in generation.columns]
