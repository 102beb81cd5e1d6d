"""The difference between two JSON values, small where they are nearly the same.

`patch(base, diff(base, value))` is `value`, whatever both are; that law is all that the lossless
conversions rest on. Absent is not null, 1 is not 1.0 and not true, and a list is one value.

A delta is `{"=": value}` for a value that takes the place of another, or an object of up to three
members: "+" what was added or replaced, by name; "-" the names that are gone; "~" deltas of the
members that changed inside.
"""

from __future__ import annotations

from typing import Any

Delta = dict[str, Any]


def diff(base: Any, value: Any) -> Delta | None:
    """What turns `base` into `value`; None where they are the same."""
    if base is value:
        return None
    if type(base) is not dict or type(value) is not dict:
        return None if same(base, value) else {"=": value}
    added: dict[str, Any] = {}
    changed: dict[str, Delta] = {}
    for name, item in value.items():
        if name not in base:
            added[name] = item
        elif (inner := diff(base[name], item)) is not None:
            if "=" in inner:
                added[name] = item
            else:
                changed[name] = inner
    gone = [name for name in base if name not in value]
    delta = {"+": added, "-": gone, "~": changed}
    return {mark: part for mark, part in delta.items() if part} or None


def patch(base: Any, delta: Delta) -> Any:
    """The value that `delta` was made of; what `base` lacks is made on the way."""
    if "=" in delta:
        return delta["="]
    value = dict(base) if type(base) is dict else {}
    for name in delta.get("-", ()):
        value.pop(name, None)
    for name, inner in delta.get("~", {}).items():
        value[name] = patch(value.get(name), inner)
    value.update(delta.get("+", {}))
    return value


def is_delta(value: Any) -> bool:
    """Whether a value from outside has the shape of a delta."""
    if type(value) is not dict:
        return False
    if "=" in value:
        return len(value) == 1
    added, gone, changed = value.get("+", {}), value.get("-", []), value.get("~", {})
    return (
        value.keys() <= {"+", "-", "~"}
        and type(added) is dict
        and type(gone) is list
        and all(type(name) is str for name in gone)
        and type(changed) is dict
        and all(map(is_delta, changed.values()))
    )


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values, types included."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
