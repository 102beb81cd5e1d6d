"""A schema as a registry keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Language(StrEnum):
    """The languages of schemas, by the names that registries use."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text. `record` is the full name of what it describes, where that is known."""

    language: Language
    text: str
    record: str = ""
