"""Debezium's change events as canonical events: of ours, all is read back; of others, what is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headwater.event import ENVELOPE_VERSION, Operation
from headwater.event.message import CONTENT, PREFIX
from headwater.format.blocks import Block, snapshot_of
from headwater.format.columns import EnvelopeColumns, bad_record
from headwater.format.debezium.image import without_placeholders
from headwater.format.engine import source_name
from headwater.format.jsontext import dumps, loads

Tree = dict[str, Any]

_OPERATIONS = {
    "c": Operation.INSERT,
    "u": Operation.UPDATE,
    "d": Operation.DELETE,
    "r": Operation.READ,
    "t": Operation.TRUNCATE,
    "m": Operation.MESSAGE,
}
_TRANSACTION_ID = re.compile(r"(-?[0-9]{1,19})(?::.*)?", re.DOTALL)
_FIELDS = tuple(EnvelopeColumns.__slots__)


def to_columns(trees: Sequence[Tree]) -> EnvelopeColumns:
    """The records' fields by column; the first that is no change event is a DataError."""
    rows = []
    for index, tree in enumerate(trees):
        try:
            rows.append(_row(tree))
        except ValueError as exc:
            raise bad_record(index, f"not a change event of Debezium: {exc}") from exc
    return EnvelopeColumns(**{name: [row[name] for row in rows] for name in _FIELDS})


def _row(tree: Tree) -> dict[str, Any]:
    source = tree.get("source")
    if type(source) is not dict:
        raise ValueError("source is not an object")
    block = _block(tree)
    op, home = _operation(tree, block)
    hidden, before_hidden = (
        _list(block, "unavailable_columns"),
        _list(block, "before_unavailable_columns"),
    )
    before, before_hidden = without_placeholders(home.get("before"), before_hidden)
    after, hidden = without_placeholders(home.get("after"), hidden)
    engine = source.get("connector", "debezium")
    return {
        "before": before,
        "after": after,
        "op": int(op),
        "source_name": block.get("source", source_name(engine) if type(engine) is str else engine),
        "offset": _offset(source),
        "source_ts_ms": source.get("ts_ms", 0),
        "ts_ms": tree.get("ts_ms") or 0,
        # Debezium gives messages a schema without a name; an event has none.
        "schema": None if op is Operation.MESSAGE else source.get("schema"),
        "table": "" if op is Operation.MESSAGE else source.get("table") or "",
        "primary_key": block.get("primary_key"),
        "snapshot": snapshot_of(block.get("snapshot")),
        "transaction": _transaction(home.get("transaction"), block),
        "envelope_version": ENVELOPE_VERSION,
        "before_is_key_only": block.get("before_is_key_only", False),
        "unavailable_columns": hidden,
        "before_unavailable_columns": before_hidden,
    }


def _block(tree: Tree) -> Tree:
    text = tree.get("headwater")
    if text is None:
        return {}
    block = loads(text) if type(text) is str else None
    if type(block) is not dict:
        raise ValueError("the member headwater is damaged")
    return block


def _operation(tree: Tree, block: Tree) -> tuple[Operation, Tree]:
    """The operation, and the object that has its rows."""
    letter = tree.get("op")
    if letter is None and "ddl" in tree:
        return Operation.SCHEMA_CHANGE, block or {"after": {"statement": tree["ddl"]}}
    if type(letter) is not str or letter not in _OPERATIONS:
        raise ValueError(f"the operation {letter!r} is none of c u d r t m")
    if letter == "m":
        return Operation.MESSAGE, {"after": _said(tree), "transaction": tree.get("transaction")}
    return _OPERATIONS[letter], tree


def _said(tree: Tree) -> Tree:
    """What a message says; whatever else its block has, the event has no place for."""
    block = tree.get("message")
    if type(block) is not dict or not block.keys() >= {PREFIX, CONTENT}:
        raise ValueError("op m has no message with prefix and content")
    return {name: value for name, value in block.items() if name in (PREFIX, CONTENT)}


def _list(block: Tree, name: str) -> list[str] | None:
    if name not in block:
        return None
    names = block[name]
    if names is None:
        return []
    if type(names) is not list or not all(type(item) is str for item in names):
        raise ValueError(f"{name} is not a list of strings")
    return names


def _offset(source: Tree) -> str:
    """The last number of the connector's sequence: ours is the offset itself."""
    text = source.get("sequence")
    try:
        numbers = loads(text) if type(text) is str else None
    except ValueError:
        numbers = None
    known = [n for n in numbers if type(n) is str] if type(numbers) is list else []
    if known:
        return str(known[-1])
    place = {name: source[name] for name in _PLACES if source.get(name) is not None}
    return dumps(place) if place else ""


_PLACES = ("lsn", "gtid", "file", "pos", "row", "commit_lsn", "change_lsn", "event_serial_no")


def _transaction(value: Any, block: Tree) -> Block:
    """Its number, if it is one; PostgreSQL's has a position behind it."""
    if type(value) is not dict or type(value.get("id")) is not str:
        return None
    found = _TRANSACTION_ID.fullmatch(value["id"])
    order = value.get("total_order")
    if found is None or type(order) is not int or not _fits(int(found[1])) or not _fits(order - 1):
        return None
    return int(found[1]), block.get("total_events"), order - 1


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**63
