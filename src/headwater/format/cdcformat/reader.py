"""Records of CDC Format 1.0 as canonical events: of ours, all is read back; of others, what is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.event import ENVELOPE_VERSION, Operation
from headwater.format.blocks import snapshot_of, transaction_of
from headwater.format.cdcformat.scalars import scalar_text
from headwater.format.columns import EnvelopeColumns, bad_record
from headwater.format.engine import source_name
from headwater.format.jsontext import dumps
from headwater.format.times import instant_ms

Tree = dict[str, Any]

_OPERATIONS = {
    "CREATE": Operation.INSERT,
    "UPDATE": Operation.UPDATE,
    "DELETE": Operation.DELETE,
}
_FIELDS = tuple(EnvelopeColumns.__slots__)


def to_columns(trees: Sequence[Tree]) -> EnvelopeColumns:
    """The records' fields by column; the first that is not of the format is a DataError."""
    rows = []
    for index, tree in enumerate(trees):
        try:
            rows.append(_row(tree))
        except ValueError as exc:
            raise bad_record(index, f"not an event of CDC Format 1.0: {exc}") from exc
    return EnvelopeColumns(**{name: [row[name] for row in rows] for name in _FIELDS})


def _row(tree: Tree) -> dict[str, Any]:
    if tree.get("version") != "1.0":
        raise ValueError(f"version is {tree.get('version')!r}")
    operation, source = _object(tree, "operation"), _object(tree, "source")
    entity, block = _object(tree, "entity"), _block(tree)
    time_ms = instant_ms(tree.get("timestamp"))
    before, after = operation.get("before"), operation.get("after")
    return {
        "before": _image(before),
        "after": _image(after),
        "op": int(_operation(operation, block)),
        "source_name": block.get("source", _source_name(source.get("database"))),
        "offset": block.get("offset", tree.get("event_id")),
        "source_ts_ms": block.get("timestamp", time_ms),
        "ts_ms": block.get("ts", time_ms),
        "schema": source.get("schema"),
        "table": block.get("table", entity.get("entity_type")),
        "primary_key": _ours(block) if block else _key(entity, after or before),
        "snapshot": snapshot_of(block.get("snapshot")),
        "transaction": transaction_of(block.get("transaction")),
        "envelope_version": ENVELOPE_VERSION,
        "before_is_key_only": block.get("before_is_key_only", False),
        "unavailable_columns": block.get("unavailable_columns"),
        "before_unavailable_columns": block.get("before_unavailable_columns"),
    }


def _source_name(database: Any) -> str:
    return source_name(database) if type(database) is str else "cdc-format"


def _object(tree: Tree, name: str) -> Tree:
    value = tree.get(name)
    if type(value) is not dict:
        raise ValueError(f"{name} is not an object")
    return value


def _block(tree: Tree) -> Tree:
    node: Any = tree
    for name in ("metadata", "custom_fields", "headwater"):
        node = node.get(name)
        if type(node) is not dict:
            return {}
    return dict(node)


def _operation(operation: Tree, block: Tree) -> Operation:
    word = operation.get("type")
    if type(word) is not str or word not in _OPERATIONS:
        raise ValueError(f"the operation {word!r} is none of CREATE, UPDATE and DELETE")
    if word == "CREATE" and block.get("op") == Operation.READ.label:
        return Operation.READ
    return _OPERATIONS[word]


def _image(value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is not dict:
        raise ValueError("a row is not an object")
    return dumps(value)


def _ours(block: Tree) -> Any:
    key = block.get("key")
    return list(key) if type(key) is dict else block.get("primary_key")


def _key(entity: Tree, row: Any) -> list[str] | None:
    """Another producer's key: the column `id`, if it is what the entity's id says."""
    if type(row) is not dict or row.get("id") is None:
        return None
    return ["id"] if scalar_text(row["id"]) == entity.get("entity_id") else None
