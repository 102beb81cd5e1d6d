"""Which column is which, from the table through every shape that a micro-batch holds. Pure.

A column is known by the number that its database gave it; one without a number by its name. A name
alone never joins two columns whose numbers differ, unless they also have one type: PostgreSQL does
not say in its stream when a column was dropped and made again as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from headwater.event import Column, LogicalType, TableSchema
from headwater.spark.change.kinds import stored_type, widens


@dataclass(frozen=True, slots=True)
class Held:
    """A column of a table that stands.

    `place` is what the table format knows it by for ever; `number` is the source's. `ours` is False
    for a column of which nobody knows whether we made it. `widens` says whether the format lets a
    type become another one.
    """

    name: str
    kind: str
    place: str
    number: int | None = None
    ours: bool = True
    widens: Callable[[str, str], bool] = widens


@dataclass(slots=True, eq=False)
class Line:
    """One column of the source through time: where the table has it, and how each shape says it.

    `told` has its form by schema id; `live` is whether the newest shape has it.
    """

    name: str
    number: int | None
    held: Held | None = None
    type: LogicalType | None = None
    live: bool = False
    late: bool = False
    told: dict[int, Column] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The type that its newest form is stored as; that of the table if the batch is silent."""
        if self.type is not None:
            return stored_type(self.type)
        return "" if self.held is None else self.held.kind

    def is_named(self, name: str) -> bool:
        """Spark does not tell names apart by case."""
        return self.name.lower() == name.lower()


def lineage(shapes: Sequence[TableSchema], held: Iterable[Held] = ()) -> list[Line]:
    """The columns of the table, then those that it lacks, in the order of their coming.

    The shapes are in the order in which they were in force, the newest last; one may come twice.
    A line is `late` if an earlier shape of these did not have it.
    """
    lines = [Line(each.name, each.number, each) for each in held]
    for place, shape in enumerate(shapes):
        chosen = _matched(lines, shape.columns)
        for line in lines:
            line.live = False
        for column, known in zip(shape.columns, chosen, strict=True):
            line = known or Line(column.name, column.number, late=place > 0)
            if known is None:
                lines.append(line)
            line.name, line.type, line.live = column.name, column.type, True
            line.number = line.number if column.number is None else column.number
            line.told[shape.schema_id] = column
    return [line for line in lines if line.told or (line.held is not None and line.held.ours)]


def _matched(lines: Sequence[Line], columns: Sequence[Column]) -> list[Line | None]:
    """The line of each column; numbers are asked first, for a name may have changed hands."""
    found: list[Line | None] = [_numbered(lines, column) for column in columns]
    taken = [line for line in found if line is not None]
    for place, column in enumerate(columns):
        if found[place] is None:
            named = (line for line in lines if line.is_named(column.name) and line not in taken)
            found[place] = line = next((each for each in named if _may_be(each, column)), None)
            if line is not None:
                taken.append(line)
    return found


def _numbered(lines: Sequence[Line], column: Column) -> Line | None:
    if column.number is None:
        return None
    return next((line for line in lines if line.number == column.number), None)


def _may_be(line: Line, column: Column) -> bool:
    known = line.number is not None and column.number is not None
    return not known or line.kind == stored_type(column.type)
