"""Checkpoint files: where a log's source and its consumers stand, with a checksum.

The file is that of the envelope's first producer: a version, the source's type and offset, the
count of events, and the SHA-256 of all that as compact JSON. What a log needs beyond the source's
own offset stands in the offset's member `headwater`, which other readers skip.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.inspect import writer_of
from headwater.errors import ConfigError, CorruptionError, MachineError
from headwater.event import Position, TableSchema
from headwater.files import replacing

if TYPE_CHECKING:
    from headwater.log.carry import Carried

VERSION = 1
_CHECKSUM = "content_checksum"
_OURS = "headwater"
_MAX_BYTES = 256 << 20


def export_checkpoint(log: Path, file: Path | None, *, force: bool = False) -> dict[str, Any]:
    """Write the log's places to a file."""
    from headwater.log.carry import carried

    places = carried(log)
    content = _content(places)
    target = file or Path(f"checkpoint_{content['source_type']}.json")
    if target.exists() and not force:
        raise ConfigError("file-exists", "it would be overwritten", where=str(target))
    try:
        # Its owner's only: a reader of the first producer refuses a file that others can read.
        with replacing(target, mode=0o600) as out:
            out.write(_encoded(content))
    except OSError as exc:
        raise MachineError("file-unwritable", str(exc), where=str(target)) from exc
    return {"file": str(target), "writer": writer_of(log), **_facts(places)}


def import_checkpoint(
    file: Path, log: Path, *, cursors_only: bool = False, source_only: bool = False
) -> dict[str, Any]:
    """Let a new log go on from the file's places, or set the consumers of the log it came from."""
    from headwater.log.carry import adopt, adopt_cursors

    places = _places(file, _checked(file))
    if source_only:
        places = replace(places, cursors=())
    (adopt_cursors if cursors_only else adopt)(log, places)
    return {"file": str(file), "log": str(log), **_facts(places)}


def _facts(places: Carried) -> dict[str, Any]:
    return {
        "log_id": places.log_id,
        "source": places.source,
        "head": places.head,
        "position": places.position,
        "cursors": [asdict(cursor) for cursor in places.cursors],
        "schemas": len(places.schemas),
    }


def _content(places: Carried) -> dict[str, Any]:
    source_type = places.source.partition(":")[0]
    position = Position.decode(places.position)
    ours = {
        "log_id": places.log_id,
        "source": places.source,
        "position": dict(position.token),
        "commands": places.commands,
        "cursors": [asdict(cursor) for cursor in places.cursors],
        "schemas": [[first, json.loads(text)] for _, first, text in places.schemas],
    }
    return {
        "checkpoint_format_version": VERSION,
        "source_type": source_type,
        "committed_event_count": places.head,
        "offset": _offset(source_type, position) | {_OURS: ours},
    }


def _offset(source_type: str, position: Position) -> dict[str, Any]:
    """The source's offset in the members that the first producer knows, or the source's own."""
    if source_type != "postgres":
        return dict(position.token)
    from headwater.source.postgres.place import Place

    place = Place.decode(position)
    return {"lsn": place.lsn, "slot_name": place.slot}


def _encoded(content: dict[str, Any]) -> bytes:
    signed = content | {_CHECKSUM: checksum(content)}
    return json.dumps(signed, indent=2, ensure_ascii=False).encode() + b"\n"


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of the content as compact JSON, the names inside the offset in order."""
    offset = _compact(content["offset"], sort_keys=True)
    rest = {name: value for name, value in content.items() if name not in {"offset", _CHECKSUM}}
    text = f'{_compact(rest)[:-1]},"offset":{offset}}}'
    return hashlib.sha256(text.encode()).hexdigest()


def _compact(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=sort_keys, ensure_ascii=False)


_MEMBERS = ("checkpoint_format_version", "source_type", "committed_event_count", "offset")


def _checked(file: Path) -> dict[str, Any]:
    """The file's content, as it was written."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES)
        content = json.loads(data)
    except OSError as exc:
        raise MachineError("file-unreadable", str(exc.strerror), where=str(file)) from exc
    except (ValueError, RecursionError) as exc:
        raise _invalid(file, f"it is not JSON: {exc}") from exc
    if type(content) is not dict or any(name not in content for name in _MEMBERS):
        raise _invalid(file, f"it lacks one of {', '.join(_MEMBERS)}")
    if type(content["committed_event_count"]) is not int:
        raise _invalid(file, "its committed_event_count is no number")
    if content["checkpoint_format_version"] != VERSION:
        raise _invalid(file, f"its version is {content['checkpoint_format_version']}")
    signed = {name: content[name] for name in _MEMBERS}
    if content.get(_CHECKSUM) != checksum(signed):
        raise CorruptionError(
            "checkpoint-damaged", "the checksum does not match the content", where=str(file)
        )
    return signed


def _places(file: Path, content: dict[str, Any]) -> Carried:
    from headwater.log.carry import Carried, CarriedCursor

    offset = content["offset"]
    ours = offset.get(_OURS) if type(offset) is dict else None
    if ours is None:
        raise _invalid(file, "another program wrote it, and it does not name a log")
    try:
        schemas = [(first, TableSchema.from_dict(told)) for first, told in ours["schemas"]]
        return Carried(
            log_id=ours["log_id"],
            source=ours["source"],
            head=content["committed_event_count"],
            position=Position(ours["position"]).encode(),
            commands=ours["commands"],
            cursors=tuple(CarriedCursor(**cursor) for cursor in ours["cursors"]),
            schemas=tuple((each.schema_id, first, each.encode()) for first, each in schemas),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise _invalid(file, f"its member {_OURS} is not one of ours: {exc}") from exc


def _invalid(file: Path, reason: str) -> ConfigError:
    return ConfigError("checkpoint-invalid", reason, where=str(file))
