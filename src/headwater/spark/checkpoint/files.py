"""The files of a checkpoint, as Spark 4 writes them for a stream that keeps no state of its own.

`metadata` names the query; `offsets/N` holds the end of batch N and is written before it runs;
`commits/N` says that it went through. A file of the last two kinds begins with the line `v1`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class Offset:
    """Where a batch ends: a sequence number of a log."""

    sequence: int
    log_id: str


def encode_metadata(query_id: str) -> bytes:
    """The file `metadata`."""
    return json.dumps({"id": query_id}, separators=(",", ":")).encode()


def encode_offset(offset: Offset, now_ms: int) -> bytes:
    """A file of `offsets`. Settings are left out: only operators with state depend on them."""
    head = {"batchWatermarkMs": 0, "batchTimestampMs": now_ms, "conf": {}}
    place = {"sequence": offset.sequence, "log": offset.log_id}
    lines = (_VERSION, json.dumps(head, separators=(",", ":")), json.dumps(place))
    return "\n".join(lines).encode()


def encode_commit() -> bytes:
    """A file of `commits`."""
    return f'{_VERSION}\n{{"nextBatchWatermarkMs":0}}'.encode()


def decode_metadata(data: bytes) -> str:
    """The query's id; ValueError says what is wrong."""
    return str(_member(_object(data.decode()), "id", str))


def decode_offset(data: bytes) -> Offset:
    """The end of a batch; ValueError says what is wrong."""
    lines = _lines(data, 3)
    _object(lines[1])
    place = _object(lines[2])
    return Offset(_member(place, "sequence", int), _member(place, "log", str))


def decode_commit(data: bytes) -> None:
    """Nothing but that it is one; ValueError says what is wrong."""
    _object(_lines(data, 2)[1])


def _lines(data: bytes, count: int) -> list[str]:
    lines = data.decode().split("\n")
    if lines[0] != _VERSION:
        raise ValueError(f"it begins with {lines[0][:20]!r}, not with {_VERSION}")
    if len(lines) != count:
        raise ValueError(f"it has {len(lines)} lines, not {count}")
    return lines


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise ValueError(f"it is not JSON: {exc}") from exc
    if type(value) is not dict:
        raise ValueError("it is no JSON object")
    return value


def _member(value: dict[str, Any], name: str, kind: type) -> Any:
    if type(value.get(name)) is not kind:
        raise ValueError(f"it has no {name}")
    return value[name]
