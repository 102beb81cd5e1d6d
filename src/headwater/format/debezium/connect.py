"""Connect schemas of JSON values, as a converter with schemas writes them before each payload.

The types are read off the values, so a null is an optional string. The fields of an object are in
the order of their names: the order of its members means nothing in JSON, so the schema must not
depend on it.
"""

from __future__ import annotations

from typing import Any

from headwater.format.jsontext import Real

Schema = dict[str, Any]

MESSAGES = "message"  # in the place of a table: Debezium's topic of messages has this name

_NAMES = {bool: "boolean", int: "int64", Real: "double", str: "string", type(None): "string"}


def schema_of(value: Any) -> Schema:
    """The schema of a value; every value may be null."""
    if type(value) is dict:
        return struct(value)
    if type(value) is list:
        items = schema_of(value[0]) if value else {"type": "string", "optional": True}
        return {"type": "array", "items": items, "optional": True}
    return {"type": _NAMES[type(value)], "optional": True}


def struct(row: Any, **more: Any) -> Schema:
    """The schema of a row; of what is no row, one without fields."""
    names = sorted(row) if type(row) is dict else ()
    fields = [{**schema_of(row[name]), "field": name} for name in names]
    return {"type": "struct", "fields": fields, "optional": True, **more}


def envelope(payload: dict[str, Any]) -> Schema:
    """The schema of a change event, as it stands: what is null has its neighbour's type."""
    source = payload.get("source")
    name = _prefix(source, payload.get("op"))
    rows = {"before": payload.get("before"), "after": payload.get("after")}
    row = rows["after"] if rows["after"] is not None else rows["before"]
    fields = []
    for member in sorted(payload, key=_place):
        value = payload[member]
        shown = row if member in rows and value is None else value
        kind = struct(shown, name=f"{name}.Value") if member in rows else schema_of(shown)
        fields.append({**kind, "field": member})
    return {"type": "struct", "fields": fields, "optional": False, "name": f"{name}.Envelope"}


def key_schema(key: dict[str, Any], name: str) -> Schema:
    """The schema of a message's key."""
    return {**struct(key), "optional": False, "name": f"{name}.Key"}


_MEMBERS = ("before", "after", "source", "op", "ts_ms", "ts_us", "ts_ns", "transaction", "message")


def _place(member: str) -> tuple[int, str]:
    return (_MEMBERS.index(member) if member in _MEMBERS else len(_MEMBERS)), member


def _prefix(source: Any, op: Any) -> str:
    if type(source) is not dict:
        return "headwater"
    if op == "m":
        return f"{source.get('name')}.{MESSAGES}"
    parts = (source.get(name) for name in ("name", "schema", "table"))
    return ".".join(str(part) for part in parts if part)
