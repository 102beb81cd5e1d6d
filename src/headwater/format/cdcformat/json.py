"""`cdc-format`: one event of CDC Format 1.0 per change, as JSON.

Every section is always there. A change that no application vouched for has the trigger
`admin_action`; a snapshot's row is a CREATE that says `read` in the block of `custom_fields`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation
from headwater.format.cdcformat.body import bodies
from headwater.format.cdcformat.context import Context, read_context
from headwater.format.cdcformat.entities import EntityMap
from headwater.format.cdcformat.reader import to_columns
from headwater.format.cdcformat.told import CUT_MEMBER, Told, hear
from headwater.format.columns import check_ranges, unwritable
from headwater.format.engine import engines
from headwater.format.jsontext import dumps
from headwater.format.rows import ids
from headwater.format.stash import Site, dress, read_records
from headwater.format.text import (
    TEXT,
    join,
    known,
    operation,
    optional,
    quoted,
    snapshot,
    string_list,
    transaction,
    where,
)
from headwater.format.times import instants, outside

FAMILY = "cdc-format"
SITE = Site(("metadata", "custom_fields", "headwater", "extra"))
SOURCE_FIELDS = ("instance", "database_name", "host", "region")

Granularity = Literal["row", "atomic"]

_NO_CASCADE = '"updated":[],"deleted":[],"invalidations":'


@dataclass(frozen=True, slots=True, kw_only=True)
class CdcFormat:
    """Reads and writes CDC Format 1.0.

    `entities` says what rows are; `granularity` what an event is: the change of one row, or with
    `atomic` that of all the rows that `cascade.Cascade` folded into it; `source` are constants of
    the source section; `sequence_as_text` is for readers whose numbers end at 2^53.
    """

    entities: EntityMap = field(default_factory=EntityMap)
    granularity: Granularity = "row"
    schema_name: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    sequence_as_text: bool = False

    @property
    def name(self) -> str:
        """`cdc-format`."""
        return "cdc-format"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/json"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One JSON object per event; a truncate, a schema change or a message is refused."""
        told = hear(batch)
        rest = batch if told is None else told.rest
        return dress(FAMILY, SITE, self._natural(rest, told), rest)

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record that is not CDC Format 1.0 is a DataError with its index."""
        return read_records(FAMILY, SITE, records, to_columns, self._natural)

    def _natural(self, batch: EventBatch, told: Told | None = None) -> pa.Array:
        _check(batch)
        column = batch.column
        time = instants(column("source_ts_ms"))
        contexts = _contexts(column("context"))
        body = bodies(batch, self.entities)
        sequence = column("sequence_number")
        mark = '"' if self.sequence_as_text else ""
        return join(
            '{"version":"1.0","event_id":"evt_', ids(batch),
            '","event_type":"entity:', body.event_type,
            '","timestamp":"', time,
            f'","sequence_number":{mark}', sequence,
            f'{mark},"schema_name":', self._schema_name(column("source_name")),
            ',"schema_version":"', column("schema_id"),
            '","source":{', self._database(column("source_name")),
            _transaction_id(column("transaction")),
            known("schema", quoted(column("table_schema")), column("table_schema")),
            contexts.source,
            '},"entity":{', body.entity,
            '},"operation":{"type":"', _operation_type(column("op")),
            '","trigger":', contexts.trigger,
            ',"timestamp":"', time, '"',
            *_before(column("before")),
            ',"after":', column("after"), body.change,
            '},"cascade":{', *_cascades(body.invalidations, told),
            '},"metadata":{"custom_fields":{"headwater":{', self._granularity(told),
            _block(batch, body.key),
            contexts.custom_fields, "}", contexts.metadata, "}}",
        )  # fmt: skip

    def _granularity(self, told: Told | None) -> pa.Array | str:
        usual = f'"granularity":"{self.granularity}"'
        if told is None:
            return usual
        cut = pa.scalar(f"{usual},{CUT_MEMBER}", TEXT)
        return pc.if_else(told.cut, cut, pa.scalar(usual, TEXT))

    def _schema_name(self, source_names: pa.Array) -> pa.Array | str:
        return quoted(source_names) if self.schema_name is None else dumps(self.schema_name)

    def _database(self, source_names: pa.Array) -> pa.Array | str:
        constants = dict(self.source)
        database = constants.pop("database", None)
        rest = "".join(f",{dumps(name)}:{dumps(value)}" for name, value in constants.items())
        if database is None:
            return join('"database":', quoted(engines(source_names)), rest)
        return f'"database":{dumps(database)}{rest}'


_OPERATION_TYPES = pa.array(["", "CREATE", "UPDATE", "DELETE", "CREATE"], TEXT)


def _operation_type(ops: pa.Array) -> pa.Array:
    return pc.take(_OPERATION_TYPES, ops)


def _check(batch: EventBatch) -> None:
    check_ranges(batch, {})
    lacking = pc.greater(batch.column("op"), int(Operation.READ))
    row = pc.index(lacking, value=True).as_py()
    if row >= 0:
        op = Operation(batch.column("op")[row].as_py())
        raise unwritable(row, f"CDC Format 1.0 has no form for {op.label}")


@dataclass(frozen=True, slots=True)
class _Contexts:
    trigger: pa.Array | str
    source: pa.Array | str
    metadata: pa.Array | str
    custom_fields: pa.Array | str


def _contexts(column: pa.Array) -> _Contexts:
    """The pieces of every event's context; one is read once, however many events share it."""
    encoded = column.dictionary_encode(null_encoding="encode")
    found = [read_context(text) for text in encoded.dictionary.to_pylist()]

    def piece(name: str) -> pa.Array:
        values = pa.array([getattr(context, name) for context in found], TEXT)
        return pc.take(values, encoded.indices)

    return _Contexts(*(piece(name) for name in Context.__slots__))


def _transaction_id(blocks: pa.Array) -> pa.Array | str:
    if blocks.null_count == len(blocks):
        return ""
    return where(blocks.is_valid(), ',"transaction_id":"', pc.struct_field(blocks, "tx_id"), '"')


def _cascades(invalidations: pa.Array, told: Told | None) -> tuple[pa.Array | str, ...]:
    if told is None:
        return _NO_CASCADE, invalidations
    return (pc.coalesce(told.cascades, join(_NO_CASCADE, invalidations)),)


def _before(images: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The member, where there is an image: its name apart, to copy no image twice."""
    name = pc.if_else(images.is_valid(), pa.scalar(',"before":', TEXT), pa.scalar("", TEXT))
    return name, images.fill_null("")


def _block(batch: EventBatch, key: pa.Array) -> pa.Array:
    """What the envelope knows and the format has no field for."""
    column = batch.column
    read = pc.equal(column("op"), int(Operation.READ))
    names = column("primary_key")
    lost = pc.and_(key.is_null(), names.is_valid())
    return join(
        where(read, ',"op":', operation(column("op"))),
        ',"source":', quoted(column("source_name")),
        ',"offset":', quoted(column("offset")),
        where(outside(column("source_ts_ms")), ',"timestamp":', column("source_ts_ms")),
        ',"ts":', column("ts_ms"),
        ',"table":', quoted(column("table_name")),
        known("key", key, key),
        where(lost, ',"primary_key":', string_list(names)),
        known("snapshot", snapshot(column("snapshot")), column("snapshot")),
        known("transaction", transaction(column("transaction")), column("transaction")),
        where(_partial(batch), ',"before_complete":false'),
        where(column("before_is_key_only"), ',"before_is_key_only":true'),
        optional("unavailable_columns", column("unavailable_columns")),
        optional("before_unavailable_columns", column("before_unavailable_columns")),
        "}",
    )  # fmt: skip


def _partial(batch: EventBatch) -> pa.Array:
    """Where the row before the change is not whole, or is not there although there was one."""
    column = batch.column
    update = pc.equal(column("op"), int(Operation.UPDATE))
    lacks = pc.and_(update, column("before").is_null())
    listed = column("before_unavailable_columns").is_valid()
    return pc.or_(pc.or_(lacks, listed), column("before_is_key_only"))
