"""`opencdc-protobuf`: the JSON record of `opencdc` as a message of proto/opencdc.proto.

What the message has no place for (null where it only has absent, members of its own) stands in the
metadata key `headwater.json`, which belongs to this carrier and is gone after reading.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.errors import MachineError
from headwater.event import EventBatch
from headwater.format.columns import bad_record, unwritable
from headwater.format.delta import diff, is_delta, patch
from headwater.format.jsontext import check_size, dumps, loads, loads_object
from headwater.format.library import missing_extra
from headwater.format.opencdc.json import OpenCdcFormat
from headwater.format.opencdc.metadata import Labels

try:
    from google.protobuf.message import DecodeError
except ModuleNotFoundError as exc:
    raise missing_extra("protobuf", exc) from exc

try:
    from headwater.format._generated.opencdc_pb2 import Change, Data, Record
except ModuleNotFoundError as exc:
    raise MachineError("protobuf-not-built", "the generated Protobuf module is missing") from exc

from headwater.format.opencdc.struct import Order, fits, read_struct, write_struct

Tree = dict[str, Any]

COLUMNS, JSON = "headwater.columns", "headwater.json"
_WORDS = ("Operation(0)", "create", "update", "delete", "snapshot")
_NUMBERED = re.compile(r"Operation\((-?[0-9]{1,9})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCdcProtobufFormat:
    """Reads and writes OpenCDC records as Protobuf messages."""

    labels: Labels = field(default_factory=Labels)

    @property
    def name(self) -> str:
        """`opencdc-protobuf`."""
        return "opencdc-protobuf"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/x-protobuf"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One message per event."""
        records = OpenCdcFormat(labels=self.labels).encode(batch)
        told = batch.column("extra").is_valid().to_pylist()
        return [
            _write(index, record, told=said)
            for index, (record, said) in enumerate(zip(records, told, strict=True))
        ]

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; bytes that are no OpenCDC message are a DataError with their index."""
        texts = []
        for index, record in enumerate(records):
            try:
                texts.append(dumps(_read(record)).encode())
            except (DecodeError, ValueError) as exc:
                raise bad_record(index, f"not a message of OpenCDC: {exc}") from exc
        return OpenCdcFormat(labels=self.labels).decode(texts)


def _write(index: int, record: bytes, *, told: bool) -> bytes:
    try:
        tree = loads_object(record)
    except ValueError as exc:
        raise unwritable(index, str(exc)) from exc
    message = _message(tree)
    if told:  # only a record from elsewhere has more than the message can hold
        residue = diff(_tree(message), tree)
        if residue is not None:
            message.metadata[JSON] = dumps(residue)
    return bytes(message.SerializeToString(deterministic=True))


def _read(record: bytes) -> Tree:
    check_size(record)
    message = Record.FromString(record)
    residue = loads(message.metadata.pop(JSON)) if JSON in message.metadata else {}
    tree = _tree(message)
    if not is_delta(residue) or "=" in residue:
        raise ValueError(f"{JSON} is damaged")
    patched: Tree = patch(tree, residue)
    return patched


def _message(tree: Tree) -> Any:
    payload = tree.get("payload")
    payload = payload if type(payload) is dict else {}
    parts = [tree.get("key"), payload.get("before"), payload.get("after")]
    order = Order.of(part for part in reversed(parts) if type(part) is dict)
    key, before, after = (_data(part, order) for part in parts)
    meta = tree.get("metadata")
    texts = meta.items() if type(meta) is dict else ()
    message = Record(
        position=_bytes(tree.get("position")) or b"",
        operation=_number(tree.get("operation")),
        metadata={name: text for name, text in texts if type(text) is str},
        key=key,
        payload=Change(before=before, after=after),
    )
    if order.differs:
        message.metadata[COLUMNS] = dumps(list(order.names))
    return message


def _tree(message: Any) -> Tree:
    meta = dict(message.metadata)
    order = Order.read(meta.pop(COLUMNS, None))
    return {
        "position": b2a_base64(message.position, newline=False).decode(),
        "operation": _word(message.operation),
        "metadata": meta,
        "key": _part(message, "key", order),
        "payload": {
            "before": _part(message.payload, "before", order),
            "after": _part(message.payload, "after", order),
        },
    }


def _number(word: Any) -> int:
    if word in _WORDS:
        return _WORDS.index(word)
    numbered = _NUMBERED.fullmatch(word) if type(word) is str else None
    return int(numbered[1]) if numbered else 0


def _word(number: int) -> str:
    return _WORDS[number] if 0 <= number < len(_WORDS) else f"Operation({number})"


def _bytes(value: Any) -> bytes | None:
    if type(value) is not str:
        return None
    try:
        return a2b_base64(value.encode(), strict_mode=True)
    except Base64Error:
        return None


def _data(part: Any, order: Order) -> Any:
    if type(part) is dict:
        if fits(part, order):
            return Data(structured_data=write_struct(part))
        return Data(raw_data=dumps(part).encode())
    raw = _bytes(part)
    return None if raw is None else Data(raw_data=raw)


def _part(parent: Any, name: str, order: Order) -> Any:
    data = getattr(parent, name)
    match data.WhichOneof("data"):
        case "structured_data":
            return read_struct(data.structured_data, order)
        case "raw_data":
            return _raw(data.raw_data, order)
        case _:
            return None


def _raw(raw: bytes, order: Order) -> Any:
    """Raw data in base64; but a row that only was raw because a Struct would have bent it."""
    try:
        row = loads_object(raw)
        if dumps(row).encode() == raw and not fits(row, order):
            return row
    except ValueError:
        pass
    return b2a_base64(raw, newline=False).decode()
