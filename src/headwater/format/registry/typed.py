"""Typed rows in front of a registry: a schema for each version of each table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from headwater.contract import Format
from headwater.event import EventBatch, are_messages
from headwater.format.headwater.avro_schema import with_messages
from headwater.format.registry.schema import Language, Schema
from headwater.format.typed.avro import TypedAvroFormat
from headwater.format.typed.schema import NO_TABLE, table_of, typed_schemas
from headwater.format.typed.schema import Schema as AvroSchema
from headwater.format.typed.table import TableForm, to_batch


class DescribedTyped:
    """Implements Described. Reading needs no history: the registry's schema says it all."""

    def __init__(self, form: TypedAvroFormat) -> None:
        self._form = form
        self._values: dict[int, Schema] = {}
        self._keys: dict[int, Schema] = {}

    @property
    def name(self) -> str:
        """The format's name."""
        return self._form.name

    @property
    def language(self) -> Language:
        """Avro."""
        return Language.AVRO

    def schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The schema of each event's table; a message has the one with a symbol for it."""
        ids = self._form.ids(batch)
        for number in set(ids) - self._values.keys():
            self._values[number] = _published(self._form.form(number).schemas.event)
        told = zip(ids, are_messages(batch).to_pylist(), strict=True)
        return [_MESSAGE if message else self._values[number] for number, message in told]

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """Bare datums."""
        return self._form.datums(batch, self._form.ids(batch))

    def decode(self, records: Iterable[bytes], schema: Schema) -> EventBatch:
        """The events of datums of one table. ValueError if the schema is none of typed rows."""
        records = list(records)
        return to_batch(_form_of(schema).decode(records, range(len(records))))

    def key_schemas(self, batch: EventBatch) -> Sequence[Schema]:
        """The schema of each event's key."""
        ids = self._form.ids(batch)
        for number in set(ids) - self._keys.keys():
            self._keys[number] = _published(self._form.form(number).schemas.key)
        return [self._keys[number] for number in ids]

    def keys(self, batch: EventBatch) -> Sequence[bytes | None]:
        """Bare datums of the keys."""
        return self._form.keys(batch, self._form.ids(batch))


def described_typed(form: Format) -> DescribedTyped:
    """The format of typed rows with its schemas."""
    if not isinstance(form, TypedAvroFormat):
        raise TypeError(f"{form.name} is not the format of typed rows")
    return DescribedTyped(form)


def _published(schema: AvroSchema) -> Schema:
    name = f"{schema['namespace']}.{schema['name']}"
    return Schema(Language.AVRO, json.dumps(schema, separators=(",", ":")), name)


@cache
def _form_of(schema: Schema) -> TableForm:
    published = json.loads(schema.text)
    return TableForm(table_of(published), published)


_NO_ROWS = typed_schemas(NO_TABLE).event
_MESSAGE = replace(_published(with_messages(_NO_ROWS)), extends=_published(_NO_ROWS))
