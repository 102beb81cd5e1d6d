"""Which schema the records of a format have: what a registry keeps of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from headwater.contract import Format
from headwater.errors import ConfigError
from headwater.event import EventBatch, Operation, are_messages
from headwater.format.cdcformat.schema import json_schema
from headwater.format.headwater.avro_schema import EVENT, EVENT_WITH_MESSAGES
from headwater.format.headwater.key import EVENT_KEY, avro_keys, json_keys, protobuf_keys
from headwater.format.registry.schema import Language, Schema

Keys = Callable[[EventBatch], Sequence[bytes | None]]


class Described(Protocol):
    """A format whose records have schemas, and so have their keys."""

    @property
    def name(self) -> str:
        """The format's name."""
        ...

    @property
    def language(self) -> Language:
        """The language of its schemas."""
        ...

    def schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The schema of each event's record."""
        ...

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """The records, without anything in front."""
        ...

    def decode(self, records: Iterable[bytes], schema: Schema) -> EventBatch:
        """The events of records that were written with this schema."""
        ...

    def key_schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The schema of each event's key."""
        ...

    def keys(self, batch: EventBatch) -> Sequence[bytes | None]:
        """The keys, without anything in front; None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Uniform:
    """A format with one schema for all events, or one more for messages.

    A schema that others have registered and compiled does not change because messages came.
    """

    form: Format
    value: Schema
    key: Schema
    key_texts: Keys
    by_schema: Callable[[Schema], Format] | None = None
    message: Schema | None = None

    @property
    def name(self) -> str:
        """The format's name."""
        return self.form.name

    @property
    def language(self) -> Language:
        """The language of its schemas."""
        return self.value.language

    def schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The same schema for each, messages aside."""
        if self.message is None:
            return [self.value] * len(batch)
        pair = self.value, self.message
        return [pair[is_message] for is_message in are_messages(batch).to_pylist()]

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """The format's own records."""
        return self.form.encode(batch)

    def decode(self, records: Iterable[bytes], schema: Schema) -> EventBatch:
        """The events; Avro reads by the schema that wrote, the others need none to read."""
        if self.language is Language.PROTOBUF and schema.record != self.value.record:
            raise ValueError(f"a message {schema.record or 'of no name'}, not {self.value.record}")
        if self.by_schema is None or schema.text == self.value.text:
            return self.form.decode(records)
        return self.by_schema(schema).decode(records)

    def key_schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The same schema for each."""
        return [self.key] * len(batch)

    def keys(self, batch: EventBatch) -> Sequence[bytes | None]:
        """The envelope's key in the language of the records."""
        return self.key_texts(batch)


def described(form: Format) -> Described:
    """The format with its schemas; a ConfigError if it has none that a registry could keep."""
    match form.name:
        case "headwater-avro-typed":
            from headwater.format.registry.typed import described_typed

            return described_typed(form)
        case "headwater-avro":
            value = _avro(EVENT)
            message = replace(_avro(EVENT_WITH_MESSAGES), extends=value)
            return Uniform(form, value, _avro(EVENT_KEY), avro_keys, _avro_by_schema, message)
        case "headwater-protobuf":
            value = _proto("event.proto", "rustcdc.Event")
            key = _proto("event_key.proto", "rustcdc.EventKey")
            return Uniform(form, value, key, protobuf_keys)
        case "opencdc-protobuf":
            return Uniform(form, _proto("opencdc.proto", "opencdc.v1.Record"), _KEY, json_keys)
        case "headwater-json":
            value = _json(envelope_schema())
            message = replace(_json(envelope_schema(messages=True)), extends=value)
            return Uniform(form, value, _KEY, json_keys, message=message)
        case "cdc-format":
            return Uniform(form, _json(json_schema()), _KEY, json_keys)
        case name:
            raise ConfigError(
                "format-not-described", f"{name} has no schema that a registry could keep"
            )


def envelope_schema(*, messages: bool = False) -> dict[str, Any]:
    """The JSON Schema of `headwater-json`; with `messages`, of logical messages too."""
    text = files(__package__).joinpath("headwater-json.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    if messages:
        schema["properties"]["op"]["enum"].append(Operation.MESSAGE.label)
    return schema


def _avro(schema: dict[str, Any]) -> Schema:
    name = f"{schema['namespace']}.{schema['name']}"
    return Schema(Language.AVRO, json.dumps(schema, separators=(",", ":")), name)


def _json(schema: dict[str, Any]) -> Schema:
    return Schema(Language.JSON, json.dumps(schema, separators=(",", ":")), schema["title"])


def _proto(file: str, message: str) -> Schema:
    text = files("headwater.format").joinpath("proto", file).read_text("utf-8")
    return Schema(Language.PROTOBUF, text, message)


@cache
def _avro_by_schema(schema: Schema) -> Format:
    from headwater.format.headwater.avro import AvroFormat

    return AvroFormat(writer_schema=json.loads(schema.text))


_KEY = _json(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "EventKey",
        "description": "The key columns of a row by name.",
        "type": "object",
    }
)
