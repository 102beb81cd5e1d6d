"""The event of a recorded row change."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from headwater.event import Event, Operation, Origin

_KINDS: dict[str, tuple[type, ...]] = {
    "schema": (str, NoneType),
    "table": (str,),
    "before": (dict, NoneType),
    "after": (dict, NoneType),
    "primary_key": (list, NoneType),
    "before_is_key_only": (bool,),
    "unavailable_columns": (list,),
    "before_unavailable_columns": (list,),
}
_DEFAULTS: dict[str, Any] = {
    "before_is_key_only": False,
    "unavailable_columns": [],
    "before_unavailable_columns": [],
}


def row_event(op: Operation, payload: Mapping[str, Any], source: Origin, ts_ms: int) -> Event:
    """The event of the payload. ValueError names the member that is not as it must be."""
    said = {name: payload.get(name, _DEFAULTS.get(name)) for name in _KINDS}
    for name, kinds in _KINDS.items():
        value = said[name]
        if type(value) not in kinds:
            raise ValueError(f"has no {name} that could be one: {value!r}")
        if type(value) is list and not all(type(item) is str for item in value):
            raise ValueError(f"has a {name} that is no list of names")
    if payload.keys() - _KINDS.keys():
        raise ValueError(
            f"has unknown members: {', '.join(sorted(payload.keys() - _KINDS.keys()))}"
        )
    key = said["primary_key"]
    return Event(
        op=op,
        source=source,
        ts_ms=ts_ms,
        table=said["table"],
        schema=said["schema"],
        primary_key=None if key is None else tuple(key),
        before=said["before"],
        after=said["after"],
        before_is_key_only=said["before_is_key_only"],
        unavailable_columns=tuple(said["unavailable_columns"]),
        before_unavailable_columns=tuple(said["before_unavailable_columns"]),
    )
