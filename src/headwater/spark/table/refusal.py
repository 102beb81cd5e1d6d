"""When a table does not follow its source, and what would let it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote

from headwater.spark.change.kinds import TEXT, logical_of
from headwater.spark.change.lineage import Line
from headwater.spark.policy import Policy
from headwater.spark.table.alteration import Alteration, add, as_text, drop, rename, widen
from headwater.spark.table.drift import (
    Added,
    Counts,
    Difference,
    Dropped,
    Incompatible,
    Renamed,
    Widened,
    differences_of,
    lost,
)
from headwater.spark.table.renames import in_order
from headwater.spark.table.shape import TableShape

_AGAIN = "then read its values again: headwater backfill start FILE {table}"
_NULLS = "set spark.schema.policy: lenient until the batch is through, " + _AGAIN
_TWO_KEYS = "keep the table as append_log, or begin a new log"
# What stops a table, by its policy. A type with less room and NULLs that are allowed never do.
_STOPS: dict[Policy, tuple[type[Difference], ...]] = {
    "evolve": (Incompatible,),
    "lenient": (),
    "freeze": (Incompatible, Widened),
    "halt": (Added, Dropped, Renamed, Widened, Incompatible),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the table cannot follow, and what would let it; `then` is to be done after the fixes.

    `anew` is that nothing would but to make the table anew, from what came in its new shape.
    """

    code: str
    reason: str
    fixes: tuple[Alteration, ...] = ()
    then: str = ""
    anew: bool = False


def refused(
    policy: Policy,
    lines: Sequence[Line],
    table: TableShape,
    name: str,
    key: Sequence[str],
    counts: Counts,
) -> Refusal | None:
    """The refusal of a policy, or of the table itself; `key` has the newest names of the key."""
    found = [each for line in lines for each in _stopping(policy, line, key, counts)]
    if not found:
        return _name_taken(lines, table) if policy == "evolve" else None
    reason = "; ".join(map(str, found))
    changed = [each for each in found if isinstance(each, Incompatible)]
    emptied = [each for each in changed if each.new != TEXT]
    if any(each.name in key for each in (changed if policy == "lenient" else emptied)):
        return Refusal("spark-type-changed", reason, anew=True)
    return Refusal(
        "spark-schema-halted" if policy == "halt" else "spark-type-changed",
        reason,
        _fixes(found, table),
        _AGAIN.format(table=quote(name)) if emptied else "",
    )


def unread(
    policy: Policy, lines: Iterable[Line], name: str, key: Sequence[str], counts: Counts
) -> Refusal | None:
    """The refusal of a table that would begin with NULL for values that were told."""
    found = [
        each
        for line in lines
        if (policy != "lenient" or line.name in key) and (each := lost(line, counts))
    ]
    if not found:
        return None
    whole = not any(each.name in key for each in found)
    then = _NULLS.format(table=quote(name)) if whole else _TWO_KEYS
    return Refusal("spark-type-changed", "; ".join(map(str, found)), then=then)


def key_refused(old: Sequence[str], new: Sequence[str]) -> Refusal:
    """Another key: rows that were told apart by the old one cannot be found by the new one."""
    told = f"the key was ({', '.join(old)}) and is ({', '.join(new)})"
    return Refusal("spark-key-changed", told, anew=True)


def _stopping(policy: Policy, line: Line, key: Sequence[str], counts: Counts) -> list[Difference]:
    """What of a column stops the table: `lenient` stops where it cannot take NULL."""
    narrow = line.held is not None and (
        logical_of(line.held.kind) is None or (line.name in key and line.held.kind != TEXT)
    )
    stops = (Incompatible,) if policy == "lenient" and narrow else _STOPS[policy]
    return [each for each in differences_of(line, counts) if isinstance(each, stops)]


def _name_taken(lines: Sequence[Line], table: TableShape) -> Refusal | None:
    """A column that we know nothing of may bear the name that one of ours is to get."""
    known = [line.held for line in lines]
    strangers = {each.name.lower(): each.name for each in table.columns if each not in known}
    taken = [strangers[each.name.lower()] for each in lines if each.name.lower() in strangers]
    if not taken:
        return None
    reason = f"column {taken[0]} of the table is not the source's {taken[0]}, which is to be there"
    return Refusal("spark-schema-halted", reason, tuple(drop(name) for name in taken))


def _fixes(found: Sequence[Difference], table: TableShape) -> tuple[Alteration, ...]:
    """The statements after which nothing would differ, in an order that works."""
    names = [each.name for each in table.columns]
    gone = [each.name for each in found if isinstance(each, Dropped)]
    renames = {each.old: each.new for each in found if isinstance(each, Renamed)}
    fixes = [drop(name) for name in gone]
    fixes += [
        rename(*step) for step in in_order(renames, [each for each in names if each not in gone])
    ]
    last = {each.name: each for each in found if isinstance(each, Incompatible)}
    for each in found:
        if isinstance(each, Widened):
            fixes.append(widen(each.name, each.new))
        elif isinstance(each, Incompatible) and each == last[each.name]:
            fixes += as_text(each.name) if each.new == TEXT else (drop(each.name),)
    added = {each.name: each.kind for each in found if isinstance(each, Added)}
    return (*fixes, *((add(added),) if added else ()))
