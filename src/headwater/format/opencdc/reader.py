"""OpenCDC records as canonical events: of ours, all is read back; of others, what there is."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence
from typing import Any

from headwater.event import ENVELOPE_VERSION, Operation
from headwater.format.blocks import snapshot_of, transaction_of
from headwater.format.columns import EnvelopeColumns, bad_record
from headwater.format.delta import same
from headwater.format.jsontext import dumps, loads, loads_object
from headwater.format.opencdc import metadata as keys

Tree = dict[str, Any]

# The name that Conduit gives raw data where a row is wanted.
RAW_COLUMN = "opencdc.rawData"
_OPERATIONS = {
    "create": Operation.INSERT,
    "update": Operation.UPDATE,
    "delete": Operation.DELETE,
    "snapshot": Operation.READ,
}
_NO_WORD = (Operation.SCHEMA_CHANGE, Operation.TRUNCATE, Operation.MESSAGE)
_OTHERS = {op.label: op for op in _NO_WORD}
_SOURCES = (keys.SOURCE_CONNECTOR_ID, keys.SOURCE_PLUGIN_NAME)


def to_columns(trees: Sequence[Tree]) -> EnvelopeColumns:
    """The records' fields by column; the first that is not OpenCDC is a DataError."""
    rows = []
    for index, tree in enumerate(trees):
        try:
            rows.append(_row(tree))
        except ValueError as exc:
            raise bad_record(index, f"not an OpenCDC record: {exc}") from exc
    return EnvelopeColumns(**{name: [row[name] for row in rows] for name in _FIELDS})


_FIELDS = tuple(EnvelopeColumns.__slots__)


def _row(tree: Tree) -> dict[str, Any]:
    meta = _object(tree, "metadata")
    payload = _object(tree, "payload")
    before, after = _image(payload.get("before")), _image(payload.get("after"))
    return {
        "before": before,
        "after": after,
        "op": int(_operation(tree.get("operation"), meta)),
        "source_name": _source_name(meta),
        "offset": _position(tree.get("position")),
        "source_ts_ms": keys.milliseconds(meta.get(keys.CREATED_AT)),
        "ts_ms": keys.milliseconds(meta.get(keys.READ_AT)),
        "schema": meta.get("headwater.schema"),
        "table": meta.get(keys.COLLECTION, ""),
        "primary_key": _primary_key(tree.get("key"), meta, after or before),
        "snapshot": snapshot_of(_json(meta, "snapshot")),
        "transaction": transaction_of(_json(meta, "transaction")),
        "envelope_version": ENVELOPE_VERSION,
        "before_is_key_only": meta.get("headwater.before_is_key_only") == "true",
        "unavailable_columns": _json(meta, "unavailable_columns"),
        "before_unavailable_columns": _json(meta, "before_unavailable_columns"),
    }


def _object(tree: Tree, name: str) -> Tree:
    value = tree.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise ValueError(f"{name} is not an object")
    return value


def _operation(word: Any, meta: Tree) -> Operation:
    if type(word) is str and word in _OPERATIONS:
        return _OPERATIONS[word]
    other = meta.get("headwater.op")
    if word == "Operation(0)" and type(other) is str and other in _OTHERS:
        return _OTHERS[other]
    raise ValueError(f"the operation {word!r} is none that an event could have")


def _source_name(meta: Tree) -> Any:
    """As we wrote it, empty or not; of others, what names the connector best."""
    named = next((meta[name] for name in _SOURCES if meta.get(name)), "opencdc")
    return meta.get("headwater.source", named)


def _position(value: Any) -> str:
    """The text of a position; one that is no text stands in its base64 form."""
    if value is None:
        return ""
    data = _bytes(value)
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return str(value)


def _bytes(value: Any) -> bytes:
    if type(value) is not str:
        raise ValueError("raw data is not a string")
    try:
        return a2b_base64(value.encode(), strict_mode=True)
    except (Base64Error, UnicodeEncodeError) as exc:
        raise ValueError(f"raw data is not base64: {exc}") from exc


def _image(value: Any) -> str | None:
    """A row image: structured data, or raw data that is a JSON object, or the raw data itself."""
    if value is None or value == "":
        return None
    if type(value) is dict:
        return dumps(value)
    raw = _bytes(value)
    try:
        return dumps(loads_object(raw))
    except ValueError:
        return dumps({RAW_COLUMN: value})


def _primary_key(key: Any, meta: Tree, image: str | None) -> Any:
    """The names of the key's columns: as we wrote them, or of a key that the row confirms."""
    if "headwater.primary_key" in meta:
        return _json(meta, "primary_key")
    if type(key) is not dict or image is None:
        return None
    row = loads(image)
    return list(key) if all(n in row and same(row[n], key[n]) for n in key) else None


def _json(meta: Tree, name: str) -> Any:
    text = meta.get(f"{keys.PREFIX}{name}")
    if text is None:
        return None
    if type(text) is not str:
        raise ValueError(f"headwater.{name} is not a string")
    return loads(text)
