"""Any described format behind a schema registry: each record begins with its schema's id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from headwater.contract import Message
from headwater.errors import ConfigError, DataError
from headwater.event import EventBatch
from headwater.format.columns import bad_record
from headwater.format.grouped import read_groups
from headwater.format.registry.client import SchemaRegistry
from headwater.format.registry.described import Described
from headwater.format.registry.frame import head, path_bytes, split, split_path
from headwater.format.registry.protofile import messages, path_of
from headwater.format.registry.schema import Language, Schema
from headwater.format.registry.subject import Part, Subjects

_Kind = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class RegisteredFormat:
    """Writes with the ids of registered schemas, and reads by the schema that a record names."""

    inner: Described
    registry: SchemaRegistry
    subjects: Subjects = field(default_factory=Subjects)

    @property
    def name(self) -> str:
        """The name of the format within."""
        return self.inner.name

    @property
    def content_type(self) -> str:
        """Bytes, also where the records within are text: a frame stands before each."""
        return "application/octet-stream"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One framed record per event; schemas that the registry lacks are registered."""
        records = self.inner.encode(batch)
        heads = self._heads(batch, self.inner.schemas(batch), "value")
        return [before + record for before, record in zip(heads, records, strict=True)]

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events, each read by the schema that its record names."""
        parts = [self._taken_apart(*pair) for pair in enumerate(records)]

        def read(kind: _Kind, places: Sequence[int]) -> EventBatch:
            schema = self.registry.schema(kind[0])
            if schema.language is Language.PROTOBUF:
                schema = replace(schema, record=messages(schema.text).get(kind[1], ""))
            return self._decoded(schema, places, [parts[place][1] for place in places])

        return read_groups([kind for kind, _ in parts], read)

    def messages(self, batch: EventBatch) -> list[Message]:
        """Each event beside its key, both framed."""
        keys = self.inner.keys(batch)
        heads = self._heads(batch, self.inner.key_schemas(batch), "key", keys)
        framed = [
            None if key is None else before + key for before, key in zip(heads, keys, strict=True)
        ]
        return list(map(Message, framed, self.encode(batch)))

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; one without a value says nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)

    def _heads(
        self,
        batch: EventBatch,
        schemas: Sequence[Schema],
        part: Part,
        records: Sequence[bytes | None] | None = None,
    ) -> list[bytes]:
        """What stands before each record; nothing is registered for a record that is not there."""
        known: dict[tuple[str, Schema], bytes] = {}
        heads = []
        for place, pair in enumerate(zip(self.subjects.topics(batch), schemas, strict=True)):
            if records is not None and records[place] is None:
                heads.append(b"")
                continue
            if pair not in known:
                known[pair] = self._head(*pair, part)
            heads.append(known[pair])
        return heads

    def _head(self, topic: str, schema: Schema, part: Part) -> bytes:
        subject = self.subjects.subject(topic, schema.record, part)
        shared = not self.subjects.apart
        number = head(self.registry.id_of(subject, schema, shared=shared))
        if schema.language is not Language.PROTOBUF:
            return number
        return number + path_bytes(path_of(schema.text, schema.record))

    def _taken_apart(self, index: int, record: bytes) -> tuple[_Kind, bytes]:
        """What a record is, and what follows its frame."""
        try:
            number, rest = split(record)
            schema = self.registry.schema(number)
            if schema.language is not self.inner.language:
                raise ValueError(f"schema {number} is {schema.language}, not {self.inner.language}")
            path, rest = (
                ((), rest) if schema.language is not Language.PROTOBUF else split_path(rest)
            )
        except ValueError as exc:
            raise bad_record(index, str(exc)) from exc
        except DataError as exc:
            raise DataError(exc.code, exc.message, where=f"record {index}", hint=exc.hint) from exc
        return (number, path), rest

    def _decoded(
        self, schema: Schema, places: Sequence[int], records: Sequence[bytes]
    ) -> EventBatch:
        try:
            return self.inner.decode(records, schema)
        except (DataError, ConfigError, ValueError):
            for place, record in zip(places, records, strict=True):
                try:
                    self.inner.decode([record], schema)
                except (DataError, ConfigError, ValueError) as exc:
                    raise bad_record(place, getattr(exc, "message", str(exc))) from exc
            raise
