"""Fixtures: recorded messages in a JSON file, checked before anything is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from headwater.errors import ConfigError, MachineError
from headwater.testing.replay.dialects import PROTOCOLS, message_types

FIXTURE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Message:
    """One recorded message, its payload decoded."""

    seq: int
    message_type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fixture:
    """A recording of one source."""

    id: str
    source_type: str
    messages: tuple[Message, ...]
    name: str = ""

    def fault(self, index: int, path: str, why: str, fix: str) -> ConfigError:
        """The error for a message that means nothing where it stands."""
        return _fault(self.name, f"messages[{index}]{path}", why, fix)


def load_fixture(path: Path | str) -> Fixture:
    """The fixture of a file; `fixture-invalid` says where it is wrong, why, and how to mend it."""
    try:
        data = Path(path).read_bytes()
    except OSError as exc:
        raise MachineError("file-unreadable", str(exc.strerror), where=str(path)) from exc
    return parse_fixture(data, name=str(path))


def parse_fixture(data: bytes | str, *, name: str = "fixture") -> Fixture:
    """The fixture of a text."""
    root = _Node(name, "", _json(name, "", data))
    metadata, messages = root.member("metadata", dict), root.member("messages", list)
    source_type = metadata.member("source_type", str)
    source_type.one_of(PROTOCOLS)
    metadata.member("protocol_version", str).one_of((PROTOCOLS[source_type.value],))
    version = metadata.member("fixture_version", int)
    if version.value != FIXTURE_VERSION:
        version.refuse(f"is {version.value}", f"write fixtures of version {FIXTURE_VERSION}")
    count = metadata.value.get("message_count", len(messages.value))
    if count != len(messages.value):
        metadata.child("message_count").refuse(
            f"is {count}, but there are {len(messages.value)} messages",
            f"set message_count to {len(messages.value)}",
        )
    return Fixture(
        id=metadata.member("id", str).value,
        source_type=source_type.value,
        messages=_messages(messages, source_type.value),
        name=name,
    )


def _messages(nodes: _Node, source_type: str) -> tuple[Message, ...]:
    messages: list[Message] = []
    last = -1
    for index in range(len(nodes.value)):
        node = nodes.item(index)
        seq = node.member("seq", int)
        if seq.value <= last:
            seq.refuse(f"is {seq.value} after {last}", "number the messages upwards from 0")
        last = seq.value
        kind = node.member("message_type", str)
        kind.one_of(message_types(source_type))
        payload = node.member("payload", str)
        decoded = _json(payload.name, payload.path, payload.value)
        if type(decoded) is not dict:
            payload.refuse("holds no JSON object", 'write the payload as a string such as "{}"')
        messages.append(Message(seq.value, kind.value, decoded))
    return tuple(messages)


_WORDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of the file, and where it stands."""

    name: str
    path: str
    value: Any

    def child(self, key: str) -> _Node:
        return _Node(self.name, f"{self.path}.{key}".lstrip("."), self.value.get(key))

    def item(self, index: int) -> _Node:
        node = _Node(self.name, f"{self.path}[{index}]", self.value[index])
        if type(node.value) is not dict:
            node.refuse("is no object", "write {seq, message_type, payload}")
        return node

    def member(self, key: str, kind: type) -> _Node:
        """The member, which must be of this type and say something."""
        if type(self.value) is not dict:
            self.refuse("is no object", "write {metadata, messages}")
        node = self.child(key)
        if type(node.value) is not kind or node.value == "":
            was = "is not there" if key not in self.value else f"is {json.dumps(node.value)[:40]}"
            node.refuse(was, f"give {_WORDS[kind]}")
        return node

    def one_of(self, known: Mapping[str, Any] | tuple[str, ...]) -> None:
        if self.value not in known:
            self.refuse(f"is {self.value!r}", f"use one of: {', '.join(known)}")

    def refuse(self, why: str, fix: str) -> NoReturn:
        raise _fault(self.name, self.path, why, fix)


def _json(name: str, path: str, data: bytes | str) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        fix = "check the file with: python -m json.tool FILE"
        raise _fault(name, path, f"is not JSON: {exc}", fix) from exc


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _fault(name: str, path: str, why: str, fix: str) -> ConfigError:
    what = path or "the file"
    return ConfigError("fixture-invalid", f"{what} {why}", where=f"{name}: {what}", hint=fix)
