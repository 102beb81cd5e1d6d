"""What a table does about a new shape of its source: statements, or a halt with the way out. Pure.

Beside the statements a plan says how the rows of every shape in the batch are read as rows of the
table, old and new names, narrow and wide types: so it does not matter where a batch is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.event import Column, Kind, LogicalType, TableSchema
from headwater.spark.change.kinds import logical_of, stored_type
from headwater.spark.change.lineage import Line, lineage
from headwater.spark.policy import SchemaPolicy
from headwater.spark.table.alteration import Alteration, add, drop, rename, widen
from headwater.spark.table.drift import roomiest
from headwater.spark.table.refusal import Refusal, key_refused, refused, unread
from headwater.spark.table.renames import in_order, unused
from headwater.spark.table.shape import TableShape


@dataclass(frozen=True, slots=True)
class Kept:
    """A column of the source in the table: its name and type there after the statements."""

    line: Line
    name: str
    kind: str

    def column(self) -> Column:
        """The column as the table has it."""
        return Column(self.name, self._type(), number=self.line.number)

    def form_of(self, column: Column) -> Column:
        """How a shape's column is read.

        A float is the double that it looks like, unless the source made a double of it since: then
        it is what the source made.
        """
        still = self.line.type is not None and self.line.type.kind is Kind.FLOAT32
        if still and self.kind == "double" and column.type.kind is Kind.FLOAT32:
            return replace(column, type=LogicalType(Kind.FLOAT64))
        return column

    def _type(self) -> LogicalType:
        own = self.line.type
        if own is not None and stored_type(own) == self.kind:
            return own
        found = logical_of(self.kind)
        if found is None:
            raise ValueError(f"no column of ours is {self.kind}")
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what the rows of the batch then are.

    `kept` are all columns of the source that the table has then, `read` those that the batch is
    read for. `added` are columns in which rows may have had values before anything told of them.
    """

    alterations: tuple[Alteration, ...]
    kept: tuple[Kept, ...]
    read: tuple[Kept, ...]
    key: tuple[str, ...]
    added: tuple[Column, ...] = ()

    def columns(self) -> tuple[Column, ...]:
        """What the rows of the batch have, as the table has it."""
        return tuple(each.column() for each in self.read)

    def readings(self) -> Mapping[int, Mapping[str, Column]]:
        """By schema id: the shape's own form of each column of the table that it tells of."""
        read: dict[int, dict[str, Column]] = {}
        for kept in self.read:
            for schema_id, column in kept.line.told.items():
                read.setdefault(schema_id, {})[kept.name] = kept.form_of(column)
        return read


@dataclass(frozen=True, slots=True)
class Keeping:
    """What kind of table it is: whether it keeps what was, and which shapes' keys must agree.

    `keyed` are the shapes whose rows count; `rests` is whether rows of the table do.
    """

    history: bool = False
    keyed: tuple[TableSchema, ...] = ()
    rests: bool = True

    def counts(self, schema_id: int) -> bool:
        """Whether rows of a shape count; what is kept without a key keeps all of them."""
        return not self.keyed or any(each.schema_id == schema_id for each in self.keyed)


def planned(
    policy: SchemaPolicy,
    shapes: Sequence[TableSchema],
    table: TableShape | None,
    keeping: Keeping,
) -> Plan | Refusal:
    """The plan for a batch with these shapes, in the order of their coming, the newest last.

    A new table has no columns to protect, so every policy makes it as the source is.
    """
    newest = shapes[-1]
    lines = lineage(shapes, () if table is None else table.columns)
    refusal = _other_key(lines, newest, table, keeping)
    name, counts = str(newest.table), keeping.counts
    # NULL in a column of the key takes rows for one only where rows are told apart.
    key = newest.primary_key if keeping.keyed or policy.policy != "lenient" else ()
    if refusal is None and table is not None:
        refusal = refused(policy.policy, lines, table, name, key, counts)
    if refusal is not None:
        return refusal
    drops = policy.on_drop == "drop" and not keeping.history
    gone = [line for line in lines if drops and not line.live]
    frozen = table is not None and policy.policy == "freeze"
    staying = [line for line in lines if line not in gone and (line.held or not frozen)]
    if table is None and (refusal := unread(policy.policy, staying, name, key, counts)):
        return refusal
    follows = table is None or policy.policy in {"evolve", "halt"}
    names = _as_the_source(staying) if follows else _as_the_table(staying)
    kept = tuple(Kept(line, names[line], roomiest(line)) for line in staying)
    return Plan(
        alterations=() if table is None else _alterations(kept, gone, table),
        kept=kept,
        # A mirror leaves alone what it is not told of; a history carries it on.
        read=tuple(each for each in kept if each.line.told or keeping.history),
        key=_key(kept, newest),
        added=tuple(
            next(reversed(each.line.told.values()))
            for each in kept
            if each.line.held is None and (table is not None or each.line.late)
        ),
    )


def as_newest(shapes: Sequence[TableSchema]) -> Plan:
    """The plan for rows that no table keeps: the newest shape, which may hold less than another.

    Nothing is refused: what it cannot hold is NULL.
    """
    names = _as_the_source(lines := lineage(shapes))
    kept = tuple(Kept(line, names[line], line.kind) for line in lines)
    return Plan((), kept, kept, _key(kept, shapes[-1]))


def _key(kept: Sequence[Kept], newest: TableSchema) -> tuple[str, ...]:
    return tuple(
        each.name
        for name in newest.primary_key
        for each in kept
        if each.line.live and each.line.name == name
    )


def _as_the_source(lines: Sequence[Line]) -> dict[Line, str]:
    """The source's names; a column that is gone makes way for one that got its name."""
    names = {}
    for line in lines:
        if line.live:
            same = line.held is not None and line.is_named(line.held.name)
            names[line] = line.held.name if line.held is not None and same else line.name
    for line in lines:
        if not line.live:
            name = line.name if line.held is None else line.held.name
            free = name.lower() not in {each.lower() for each in names.values()}
            gone = f"{name}_dropped" + ("" if line.number is None else f"_{line.number}")
            names[line] = name if free else unused(gone, names.values())
    return names


def _as_the_table(lines: Sequence[Line]) -> dict[Line, str]:
    """The table's own names; a new column whose name is taken gets its number behind it."""
    names = {line: line.held.name for line in lines if line.held is not None}
    for line in lines:
        if line not in names:
            free = line.name.lower() not in {each.lower() for each in names.values()}
            other = f"{line.name}_{line.number or 2}"
            names[line] = line.name if free else unused(other, names.values())
    return names


def _alterations(
    kept: Sequence[Kept], gone: Sequence[Line], table: TableShape
) -> tuple[Alteration, ...]:
    """Statements in an order that works: names are freed before they are given."""
    dropped = [line.held.name for line in gone if line.held is not None]
    names = [each.name for each in table.columns if each.name not in dropped]
    standing = {each: each.line.held for each in kept if each.line.held is not None}
    renames = {held.name: each.name for each, held in standing.items() if held.name != each.name}
    steps = [
        *map(drop, dropped),
        *(rename(old, new) for old, new in in_order(renames, names)),
        *(widen(each.name, each.kind) for each, held in standing.items() if held.kind != each.kind),
    ]
    added = {each.name: each.kind for each in kept if each.line.held is None}
    return (*steps, *((add(added),) if added else ()))


def _other_key(
    lines: Sequence[Line], newest: TableSchema, table: TableShape | None, keeping: Keeping
) -> Refusal | None:
    """Whether rows that count were told apart by other columns than the newest shape's key."""
    by_name = {line.name: line for line in lines if line.live}
    key = {by_name[name] for name in newest.primary_key if name in by_name}
    for shape in keeping.keyed:
        told = {
            line
            for line in lines
            for name in shape.primary_key
            if (column := line.told.get(shape.schema_id)) is not None and column.name == name
        }
        if told != key:
            return key_refused(shape.primary_key, newest.primary_key)
    if table is None or table.key is None or not keeping.keyed or not keeping.rests:
        return None
    old = {each.place: each.name for each in table.columns if each.place in table.key}
    # A column that is known by another place now was made anew by hand.
    known = len(old) == len(table.key)
    if not known or {line.held.place if line.held else None for line in key} == old.keys():
        return None
    return key_refused(tuple(old.values()), newest.primary_key)
