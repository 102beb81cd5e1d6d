"""How a table's columns differ from those of its source. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.spark.change.kinds import widens
from headwater.spark.change.lineage import Line


@dataclass(frozen=True, slots=True)
class Added:
    """The source has a column that the table has not."""

    name: str
    kind: str

    def __str__(self) -> str:
        return f"column {self.name} ({self.kind}) is new"


@dataclass(frozen=True, slots=True)
class Dropped:
    """The table has a column that the source has no more."""

    name: str

    def __str__(self) -> str:
        return f"column {self.name} is gone at the source"


@dataclass(frozen=True, slots=True)
class Renamed:
    """The column has another name in the table than at the source."""

    old: str
    new: str

    def __str__(self) -> str:
        return f"column {self.old} of the table is {self.new} at the source"


@dataclass(frozen=True, slots=True)
class Widened:
    """The source's type has room for more, and the table's can become it."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"column {self.name} is {self.old} in the table and {self.new} at the source"


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The table's type holds every value of the source's already."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"column {self.name} is {self.old} in the table, with room for {self.new}"


@dataclass(frozen=True, slots=True)
class Nullability:
    """The source changed whether a value may be missing; a table's columns all allow it."""

    name: str
    nullable: bool

    def __str__(self) -> str:
        return f"column {self.name} {'may' if self.nullable else 'may not'} be NULL at the source"


@dataclass(frozen=True, slots=True)
class Incompatible:
    """Neither of the two types holds what the other does."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"column {self.name} is {self.old} in the table and {self.new} at the source"


Difference = Added | Dropped | Renamed | Widened | Narrowed | Nullability | Incompatible
TypeChange = Widened | Narrowed | Incompatible


def differences(lines: Sequence[Line]) -> tuple[Difference, ...]:
    """Everything in which the table differs from its source."""
    return tuple(each for line in lines for each in differences_of(line))


def differences_of(line: Line) -> tuple[Difference, ...]:
    """In what one column differs."""
    held = line.held
    if held is None:
        return (Added(line.name, line.kind),)
    if not line.live:
        return (Dropped(held.name),) if held.ours else ()
    found: list[Difference] = []
    if not line.is_named(held.name):
        found.append(Renamed(held.name, line.name))
    if (change := type_change(line)) is not None:
        found.append(change)
    nullable = [column.nullable for column in line.told.values()]
    if len(set(nullable)) > 1:
        found.append(Nullability(line.name, nullable[-1]))
    return tuple(found)


def type_change(line: Line) -> TypeChange | None:
    """How the type of a column that the table has differs from the source's."""
    if line.held is None or line.held.kind == line.kind:
        return None
    old, new = line.held.kind, line.kind
    if line.held.widens(old, new):
        return Widened(line.name, old, new)
    if widens(new, old):
        return Narrowed(line.name, old, new)
    return Incompatible(line.name, old, new)
