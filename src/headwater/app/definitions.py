"""The published definitions of formats: JSON Schema, Protobuf and Avro, as others take them in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from headwater.app.registry import default_registry
from headwater.app.tableschemas import table_versions
from headwater.errors import ConfigError

Definition = Callable[[], str]


def json_schema(name: str, *, messages: bool = False) -> str:
    """The JSON Schema of a format, or that of its logical messages."""
    if messages:
        return _published("JSON Schema of messages", _JSON_MESSAGES, name)
    return _published("JSON Schema", _JSON_SCHEMAS, name)


def proto(name: str, *, key: bool = False) -> str:
    """The Protobuf file of a format, or of its keys."""
    return _published("Protobuf file", _PROTO_KEYS if key else _PROTOS, name)


def avsc(name: str, *, key: bool = False, messages: bool = False) -> str:
    """The Avro schema of a format, of its keys, or that of its logical messages."""
    if messages:
        return _published("Avro schema of messages", _AVRO_MESSAGES, name)
    return _published("Avro schema", _AVRO_KEYS if key else _AVROS, name)


def table_avsc(log: Path, table: str, *, at: int | None = None, key: bool = False) -> str:
    """The Avro schema of a table's typed events, or of its keys."""
    from headwater.format.typed.schema import typed_schemas

    versions = table_versions(log, table, at=at)
    if len(versions) > 1:
        names = ", ".join(str(each.schema.table) for each in versions)
        raise ConfigError(
            "table-ambiguous", f"{table!r} means {names}", where=str(log), hint="name one of them"
        )
    schemas = typed_schemas(versions[0].schema)
    return _text(schemas.key if key else schemas.event)


def _published(language: str, known: Mapping[str, Definition], name: str) -> str:
    default_registry().format(name)  # an unknown name is told as such
    if name in known:
        return known[name]()
    raise ConfigError(
        "schema-not-published",
        f"no {language} is published for {name}",
        hint=f"there is one for: {', '.join(known)}",
    )


def _text(value: Any) -> str:
    return json.dumps(value, indent=2)


def _envelope_json(*, messages: bool = False) -> str:
    from headwater.format.registry.described import envelope_schema

    return _text(envelope_schema(messages=messages))


def _cdc_format_json() -> str:
    from headwater.format.cdcformat.schema import json_schema as schema

    return _text(schema())


def _envelope_avro(*, messages: bool = False) -> str:
    from headwater.format.headwater.avro_schema import EVENT, EVENT_WITH_MESSAGES

    return _text(EVENT_WITH_MESSAGES if messages else EVENT)


def _key_avro() -> str:
    from headwater.format.headwater.key import EVENT_KEY

    return _text(EVENT_KEY)


def _proto_file(name: str) -> Definition:
    return lambda: files("headwater.format").joinpath("proto", name).read_text("utf-8").rstrip()


_JSON_SCHEMAS: dict[str, Definition] = {
    "headwater-json": _envelope_json,
    "cdc-format": _cdc_format_json,
}
_JSON_MESSAGES = {"headwater-json": partial(_envelope_json, messages=True)}
_PROTOS = {
    "headwater-protobuf": _proto_file("event.proto"),
    "opencdc-protobuf": _proto_file("opencdc.proto"),
}
_PROTO_KEYS = {"headwater-protobuf": _proto_file("event_key.proto")}
_AVROS: dict[str, Definition] = {"headwater-avro": _envelope_avro}
_AVRO_MESSAGES = {"headwater-avro": partial(_envelope_avro, messages=True)}
_AVRO_KEYS = {"headwater-avro": _key_avro}
