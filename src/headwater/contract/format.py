"""Format: one wire form of the event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headwater.contract.log import SchemaHistory
from headwater.event import EventBatch


class Format(Protocol):
    """Encodes a batch to one record per event, and decodes it back without loss."""

    @property
    def name(self) -> str:
        """The name that configuration and CLI use, for example `headwater-json`."""
        ...

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        ...

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One record per event, in order."""
        ...

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events of the records; a bad record raises DataError and names its place."""
        ...


@runtime_checkable
class TypedFormat(Format, Protocol):
    """A format that writes rows in the types of their tables, and so needs to know the tables."""

    def with_schemas(self, history: SchemaHistory) -> Format:
        """The same format with the tables of this history."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """A record as a broker carries it: beside its key, with headers. No value is a tombstone."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@runtime_checkable
class MessageFormat(Format, Protocol):
    """A format that says what belongs beside a record: its key, headers, tombstones."""

    def messages(self, batch: EventBatch) -> Sequence[Message]:
        """The messages of the events, in order; some events may have more than one."""
        ...

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of the messages; a bad record raises DataError and names its place."""
        ...
