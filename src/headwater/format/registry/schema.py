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
    """A schema's text. `record` is the full name of what it describes, where that is known.

    `extends` is a schema whose records this one can read: registered after it, it is compatible.
    """

    language: Language
    text: str
    record: str = ""
    extends: Schema | None = None
