"""Renames in an order in which each new name is free. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.spark.table.layout import PREFIX


def in_order(renames: Mapping[str, str], names: Iterable[str]) -> list[tuple[str, str]]:
    """Steps from old to new names in a table that has these columns.

    Names that change places go through one that nobody has. A process may end at any step: what is
    left to do then follows from the names as they stand.
    """
    taken = {name.lower() for name in names}
    waiting = dict(renames)
    steps = []
    while waiting:
        old = next((each for each in waiting if waiting[each].lower() not in taken), None)
        if old is None:
            old, new = waiting.popitem()
            aside = unused(f"{PREFIX}renamed", taken)
            waiting[aside] = new
            new = aside
        else:
            new = waiting.pop(old)
        taken = (taken - {old.lower()}) | {new.lower()}
        steps.append((old, new))
    return steps


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, or the first variant of it that is free."""
    used = {each.lower() for each in taken}
    variants = (name, *(f"{name}_{number}" for number in range(2, len(used) + 3)))
    return next(each for each in variants if each.lower() not in used)
