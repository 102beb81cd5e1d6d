"""Which fields a change touched, and their values on both sides, in column order.

An insert or a delete touches every column that it has. An update touches what is not the same on
both sides; a column that the source did not send again is not touched. Where the row before is not
whole, what it lacks may have changed: those fields are listed, but no values are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Any

from headwater.event import Operation
from headwater.format.delta import same
from headwater.format.jsontext import dumps

Row = dict[str, Any]

_ABSENT = object()
_UPDATE = int(Operation.UPDATE)


class FieldTexts:
    """Lists of field names as JSON; few lists serve many rows."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], str] = {}

    def text(self, names: Iterable[str]) -> str:
        """The JSON array of the names."""
        key = tuple(names)
        text = self._known.get(key)
        if text is None:
            text = self._known[key] = dumps(list(key))
        return text


def changed_fields(
    op: int, before: Row | None, after: Row | None, hidden: Iterable[str]
) -> list[str]:
    """The names of the touched fields; `hidden` are columns that the source did not send again."""
    if before is None or after is None or op != _UPDATE:
        return list(after if after is not None else before or ())
    if list(before) == list(after):
        pairs = zip(after, before.values(), after.values(), strict=True)
        return [name for name, old, new in pairs if old is not new and _differs(old, new)]
    names = [name for name, new in after.items() if _differs(before.get(name, _ABSENT), new)]
    unsent = set(hidden)
    return names + [name for name in before if name not in after and name not in unsent]


def _differs(old: Any, new: Any) -> bool:
    if type(old) is not type(new):
        return True
    if type(new) in (dict, list):
        return not same(old, new)
    return bool(old != new)


def changed_values(names: Iterable[str], before: Row, after: Row) -> str:
    """The fields' values before and after, as a JSON object; a side without the field has none."""
    members = []
    for name in names:
        sides = _sides(before.get(name, _ABSENT), after.get(name, _ABSENT))
        members.append(f"{encode_basestring(name)}:{{{sides}}}")
    return "{" + ",".join(members) + "}"


def _sides(old: Any, new: Any) -> str:
    if old is _ABSENT:
        return f'"after":{_text(new)}'
    if new is _ABSENT:
        return f'"before":{_text(old)}'
    return f'"before":{_text(old)},"after":{_text(new)}'


def _text(value: Any) -> str:
    if type(value) is str:
        return encode_basestring(value)
    if type(value) is int:
        return repr(value)
    return dumps(value)
