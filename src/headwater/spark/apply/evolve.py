"""The columns of a table brought after its source's, before the rows of a batch go in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from shlex import quote

from headwater.contract import Asking, Verb, Wish
from headwater.errors import ConfigError
from headwater.event import Column, TableId
from headwater.spark.change.changes import TableChanges
from headwater.spark.modes import Mode, name_of
from headwater.spark.policy import SchemaPolicy
from headwater.spark.table.evolution import Keeping, Plan, planned
from headwater.spark.table.fit import fitted
from headwater.spark.table.refusal import Refusal
from headwater.spark.table.shape import TableShape, memory
from headwater.spark.table.target import Target


@dataclass(frozen=True, slots=True)
class Evolution:
    """How the tables of a stream follow their sources.

    `asking` opens the place where values are asked for, in whichever thread needs it.
    """

    policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    asking: Callable[[], Asking] | None = None

    def follow(
        self, target: Target, changes: TableChanges, mode: Mode, after: int
    ) -> tuple[TableChanges, bool]:
        """The changes as rows of what the table is then, and whether it had to be altered for it.

        Doing it again after a crash does what is left of it: the columns that the table has say
        what that is.
        """
        shape = target.shape()
        plan = planned(
            self.policy,
            [each.schema for each in changes.shapes],
            shape,
            _keeping(changes, mode, after),
        )
        if isinstance(plan, Refusal):
            raise _halt(plan, target, changes, mode)
        # Before the column is there: afterwards nothing would say that it is new.
        self._ask(changes.schema.table, plan.added)
        if shape is not None:
            target.alter(plan.alterations)
            _remember(target, plan, shape)
        forgiving = self.policy.forgives(changes.schema.table)
        return replace(fitted(changes, plan), forgiving=forgiving), bool(plan.alterations)

    def _ask(self, table: TableId, added: tuple[Column, ...]) -> None:
        """Ask for the values that rows got in a new column without an event of their own."""
        if self.asking is None or self.policy.on_add == "ignore" or not added:
            return
        with closing(self.asking()) as commands:
            for column in added:
                name = column.name.replace('"', '""')
                number = "" if column.number is None else f"#{column.number}"
                # Rows without a value are told rightly already.
                wish = Wish(verb=Verb.START, table=str(table), where=f'"{name}" IS NOT NULL')
                commands.ask(wish, once=f"added column {table}.{column.name}{number}")


def _keeping(changes: TableChanges, mode: Mode, after: int) -> Keeping:
    if mode == "append_log":
        return Keeping(history=True)
    mirrors = mode == "mirror"
    floor = changes.floor(after) if mirrors else after
    counting = tuple(each.schema for each in changes.shapes if each.last > floor)
    return Keeping(
        history=not mirrors,
        keyed=counting or (changes.shapes[-1].schema,),
        rests=not (mirrors and changes.emptied(after)),
    )


def _remember(target: Target, plan: Plan, before: TableShape) -> None:
    """Let the table know the numbers of the columns that it has now."""
    shape = before if not plan.alterations else target.shape()
    if shape is None:
        return
    places = {each.name: each.place for each in shape.columns}
    said = memory(
        [(places[each.name], each.line.number) for each in plan.kept],
        (places[name] for name in plan.key),
    )
    known = memory(
        [(each.place, each.number) for each in before.columns if each.ours], before.key or ()
    )
    if said != known:
        target.remember(said, plan.key)


def _halt(refusal: Refusal, target: Target, changes: TableChanges, mode: Mode) -> ConfigError:
    anew = _anew(changes, mode) if refusal.anew else ()
    steps = (*target.statements(refusal.fixes), refusal.then, *anew)
    return ConfigError(
        refusal.code,
        f"table {changes.schema.table}: {refusal.reason}",
        where=target.place,
        hint="; ".join(filter(None, steps)),
    )


def _anew(changes: TableChanges, mode: Mode) -> tuple[str, ...]:
    """How the table is made anew without the events that it cannot take beside the newest.

    The log still has them, and would tell of them again.
    """
    table, newest = changes.schema.table, changes.shapes[-1].schema
    before = 0 if changes.told is None else changes.told[0]
    older = [shape.last for shape in changes.shapes if shape.schema != newest]
    kept, told = quote(name_of(table, mode)), quote(str(table))
    return (
        "remove the table's folder",
        f"headwater spark release FILE {kept} --after {max(older, default=before)}",
        f"headwater backfill start FILE {told}",
    )
