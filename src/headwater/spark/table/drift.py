"""How a table's columns differ from those of its source. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.spark.change.kinds import TEXT, keeps_room, stored_type, widens
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
    """The table's type holds every value of the source's already, as it was."""

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


@dataclass(frozen=True, slots=True)
class Lost:
    """A new table's column had another type before, whose values its type does not hold."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"column {self.name} was {self.old} and is {self.new} in events of one batch"


Difference = Added | Dropped | Renamed | Widened | Narrowed | Nullability | Incompatible
TypeChange = Widened | Narrowed | Incompatible
# Whether rows count that have the shape with an id; what was emptied since does not.
Counts = Callable[[int], bool]


def _every(_schema_id: int) -> bool:
    return True


def differences(lines: Sequence[Line]) -> tuple[Difference, ...]:
    """Everything in which the table differs from its source."""
    return tuple(each for line in lines for each in differences_of(line))


def differences_of(line: Line, counts: Counts = _every) -> tuple[Difference, ...]:
    """In what one column differs, now or in a shape between."""
    held = line.held
    if held is None:
        return (Added(line.name, line.kind),)
    if not line.live:
        return (Dropped(held.name),) if held.ours else ()
    found: list[Difference] = []
    if not line.is_named(held.name):
        found.append(Renamed(held.name, line.name))
    found += type_changes(line, counts)
    nullable = [column.nullable for column in line.told.values()]
    if len(set(nullable)) > 1:
        found.append(Nullability(line.name, nullable[-1]))
    return tuple(found)


def type_changes(line: Line, counts: Counts = _every) -> tuple[TypeChange, ...]:
    """How the types of a column differ from that of the table, one after the other.

    Those between count as well: met in batches of their own, each would have been the newest once.
    A type that the table can read is none of them, for the table may be ahead already.
    """
    held = line.held
    if held is None:
        return ()
    *between, newest = _forms(line, counts)
    kind, before, found = held.kind, newest, list[TypeChange]()
    for place, form in enumerate(between):
        if held.widens(kind, form):
            found.append(Widened(line.name, held.kind, form))
            kind = form
        elif not _reads(kind, form) or (place and _rounded(before, form)):
            found.append(Incompatible(line.name, held.kind, form))
        before = form
    if held.widens(kind, newest):
        found.append(Widened(line.name, held.kind, newest))
    elif keeps_room(kind, newest):
        found.append(Narrowed(line.name, kind, newest))
    elif kind != newest:
        found.append(Incompatible(line.name, held.kind, newest))
    return tuple(dict.fromkeys(found))


def lost(line: Line, counts: Counts = _every) -> Lost | None:
    """What a new table does not get of a column whose type changes in its first batch."""
    kind, *others = _forms(line, counts)
    for form in others:
        if widens(kind, form):
            kind = form
        elif kind != form and not keeps_room(kind, form) and line.kind != TEXT:
            return Lost(line.name, kind, form)
    return None


def roomiest(line: Line) -> str:
    """The type that a column gets in the table: where batches are cut makes no other of it."""
    forms = _forms(line, _every)
    if line.held is not None:
        kind = line.held.kind
        for form in forms:
            kind = form if line.held.widens(kind, form) else kind
        return kind
    kind = forms[0]
    for form in forms:
        kind = kind if keeps_room(kind, form) else form
    return kind


def _forms(line: Line, counts: Counts) -> list[str]:
    """The types that it is told in, the newest last."""
    told = (stored_type(each.type) for shape, each in line.told.items() if counts(shape))
    return [*told, line.kind]


def _reads(kind: str, form: str) -> bool:
    return kind in (form, TEXT) or widens(form, kind)


def _rounded(old: str, new: str) -> bool:
    """Whether the source cut its values to make them fit, of which no event tells."""
    return widens(new, old) and not keeps_room(old, new)
