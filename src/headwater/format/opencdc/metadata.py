"""The metadata keys of OpenCDC, Conduit's own and ours. Every value is a string."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

VERSION = "opencdc.version"
CREATED_AT = "opencdc.createdAt"  # Unix nanoseconds, as the two that follow
READ_AT = "opencdc.readAt"
COLLECTION = "opencdc.collection"
KEY_SUBJECT = "opencdc.key.schema.subject"
KEY_VERSION = "opencdc.key.schema.version"
PAYLOAD_SUBJECT = "opencdc.payload.schema.subject"
PAYLOAD_VERSION = "opencdc.payload.schema.version"
FILE_NAME = "opencdc.file.name"
FILE_SIZE = "opencdc.file.size"
FILE_HASH = "opencdc.file.hash"
FILE_CHUNKED = "opencdc.file.chunked"
FILE_CHUNK_INDEX = "opencdc.file.chunk.index"  # the first is 1
FILE_CHUNK_COUNT = "opencdc.file.chunk.count"

SOURCE_PLUGIN_NAME = "conduit.source.plugin.name"
SOURCE_PLUGIN_VERSION = "conduit.source.plugin.version"
SOURCE_CONNECTOR_ID = "conduit.source.connector.id"
DESTINATION_PLUGIN_NAME = "conduit.destination.plugin.name"
DESTINATION_PLUGIN_VERSION = "conduit.destination.plugin.version"
DLQ_NACK_ERROR = "conduit.dlq.nack.error"
DLQ_NACK_NODE_ID = "conduit.dlq.nack.node.id"

PREFIX = "headwater."
EXTRA = "headwater.extra"

_NANOSECONDS = re.compile(r"-?[0-9]{1,25}")


@dataclass(frozen=True, slots=True)
class Subject:
    """A schema in a registry: its subject and its version there, which begins at 1."""

    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Metadata that the pipeline knows and the event does not.

    `constants` stand in every record (connector and plugin, for example); the subjects are given by
    the event's schema_id.
    """

    constants: Mapping[str, str] = field(default_factory=dict)
    key_subjects: Mapping[int, Subject] = field(default_factory=dict)
    payload_subjects: Mapping[int, Subject] = field(default_factory=dict)


def milliseconds(nanoseconds: object) -> int:
    """Whole milliseconds of a time in metadata; 0 where there is none. ValueError if it is none."""
    if nanoseconds is None or nanoseconds == "":
        return 0
    if type(nanoseconds) is not str or not _NANOSECONDS.fullmatch(nanoseconds):
        raise ValueError("a time is not a number of nanoseconds")
    return int(nanoseconds) // 1_000_000
