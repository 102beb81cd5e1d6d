"""`debezium`: Debezium's change events in JSON; `debezium-schema`: with Connect's schema around."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import Message
from headwater.event import EventBatch, Operation, are_messages
from headwater.event.message import PREFIX
from headwater.format.columns import check_ranges
from headwater.format.debezium.connect import MESSAGES, key_schema
from headwater.format.debezium.image import holds_placeholder, with_placeholders
from headwater.format.debezium.reader import to_columns
from headwater.format.debezium.schemaful import FAMILY as SCHEMA_FAMILY
from headwater.format.debezium.schemaful import unwrap, wrap
from headwater.format.debezium.source import scaled, source_block
from headwater.format.engine import ambiguous
from headwater.format.jsontext import dumps, loads
from headwater.format.rows import event_keys, key_texts, parsed
from headwater.format.stash import Site, dress, undress, with_extra
from headwater.format.text import (
    TEXT,
    as_string,
    join,
    known,
    quoted,
    snapshot,
    string_list,
    where,
)

FAMILY = "debezium"
SITE = Site(("headwater_extra",), as_text=True)

_RANGES = {"transaction.event_index": (-(2**63), 2**63 - 2)}  # total_order is one more
_LETTERS = pa.array(["", "c", "u", "d", "r", "", "t", "m"], TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebeziumFormat:
    """Reads and writes Debezium's change events.

    `server_name` is Debezium's topic prefix, the connector's name where it is not given; `database`
    is the name in `source.db`; `tombstones` follow deletes among `messages`.
    """

    schema: bool = False
    server_name: str | None = None
    database: str = ""
    tombstones: bool = True

    @property
    def name(self) -> str:
        """`debezium` or `debezium-schema`."""
        return "debezium-schema" if self.schema else "debezium"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/json"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One change event per event."""
        own = (SCHEMA_FAMILY,) if self.schema else ()
        records = dress(FAMILY, SITE, self._natural(batch), batch, own)
        return wrap(records, batch) if self.schema else records

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record that is no change event is a DataError with its index."""
        records, schemas = unwrap(records) if self.schema else (list(records), None)
        trees, said = undress(SITE, records)
        batch = to_columns(trees).to_batch()
        if schemas is not None:
            said = [one | more for one, more in zip(said, schemas, strict=True)]
        natural = self._natural(batch).cast(pa.large_binary()).to_pylist()
        return with_extra(FAMILY, batch, natural, records, said, trees.__getitem__)

    def keys(self, batch: EventBatch) -> list[bytes | None]:
        """The key of each event's message: the key columns, or None for a table without a key.

        A logical message has its prefix as its key, as Debezium does it.
        """
        check_ranges(batch, {})
        keys = event_keys(batch)
        for row in pc.indices_nonzero(are_messages(batch)).to_pylist():
            keys[row] = {PREFIX: loads(batch.column("after")[row].as_py())[PREFIX]}
        if not self.schema:
            texts = key_texts(keys).to_pylist()
            return [None if text is None else text.encode() for text in texts]
        names = self._prefixes(batch)
        return [
            None
            if key is None
            else dumps({"schema": key_schema(key, name), "payload": key}).encode()
            for key, name in zip(keys, names, strict=True)
        ]

    def messages(self, batch: EventBatch) -> list[Message]:
        """Key and value of each event; a delete is followed by a tombstone, a key without value."""
        messages = []
        deletes = pc.equal(batch.column("op"), int(Operation.DELETE)).to_pylist()
        for key, value, deleted in zip(self.keys(batch), self.encode(batch), deletes, strict=True):
            messages.append(Message(key, value))
            if deleted and key is not None and self.tombstones:
                messages.append(Message(key, None))
        return messages

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; tombstones say nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)

    def _prefixes(self, batch: EventBatch) -> list[str]:
        servers = [self.server_name or name for name in batch.column("source_name").to_pylist()]
        schemas = batch.column("table_schema").to_pylist()
        tables = [name or MESSAGES for name in batch.column("table_name").to_pylist()]
        return [
            ".".join(part for part in place if part)
            for place in zip(servers, schemas, tables, strict=True)
        ]

    def _natural(self, batch: EventBatch) -> pa.Array:
        check_ranges(batch, _RANGES)
        column = batch.column
        source = source_block(batch, self.server_name, self.database)
        images = [
            with_placeholders(column(image), column(lists))
            for image, lists in (
                ("before", "before_unavailable_columns"),
                ("after", "unavailable_columns"),
            )
        ]
        ts_ms, messages = column("ts_ms"), are_messages(batch)
        changes = join(
            "{", *_rows(messages, *images),
            '"source":', source,
            ',"op":"', pc.take(_LETTERS, column("op")),
            '","ts_ms":', ts_ms,
            ',"ts_us":', scaled(ts_ms, "000"),
            ',"ts_ns":', scaled(ts_ms, "000000"),
            ',"transaction":', _transaction(column("transaction")),
            where(messages, ',"message":', column("after")),
            ',"headwater":', as_string(_block(batch)),
            "}",
        )  # fmt: skip
        ddl = pc.equal(column("op"), int(Operation.SCHEMA_CHANGE))
        if not pc.any(ddl, min_count=0).as_py():
            return changes
        return pc.if_else(ddl, self._schema_changes(batch, source), changes)

    def _schema_changes(self, batch: EventBatch, source: pa.Array) -> pa.Array:
        column = batch.column
        statements = [(row or {}).get("statement") for row in parsed(column("after"))]
        texts = [text if type(text) is str else None for text in statements]
        block = join(
            '{"before":', column("before"),
            ',"after":', column("after"),
            ',"transaction":', _transaction(column("transaction")),
            ",", pc.utf8_slice_codeunits(_block(batch), start=1),
        )  # fmt: skip
        return join(
            '{"source":', source,
            ',"ts_ms":', column("ts_ms"),
            f',"databaseName":{dumps(self.database)}',
            ',"schemaName":', quoted(column("table_schema")),
            ',"ddl":', quoted(pa.array(texts, pa.string())),
            ',"tableChanges":[],"headwater":', as_string(block),
            "}",
        )  # fmt: skip


def _rows(messages: pa.Array, before: pa.Array, after: pa.Array) -> tuple[pa.Array | str, ...]:
    """The members of rows, which a message has none of."""
    members = '"before":', before, ',"after":', after, ","
    if not pc.any(messages, min_count=0).as_py():
        return members
    return (where(pc.invert(messages), *members),)


def _transaction(blocks: pa.Array) -> pa.Array | str:
    """The order among a table's own events is not known, and not invented."""
    if blocks.null_count == len(blocks):
        return "null"
    text = join(
        '{"id":"', pc.struct_field(blocks, "tx_id"),
        '","total_order":', pc.add(pc.struct_field(blocks, "event_index"), 1),
        ',"data_collection_order":null}',
    )  # fmt: skip
    return pc.if_else(blocks.is_valid(), text, pa.scalar(None, TEXT))


def _block(batch: EventBatch) -> pa.Array:
    """What the envelope knows and Debezium has no field for."""
    column = batch.column
    names, source = column("primary_key"), column("source_name")
    totals = pc.struct_field(column("transaction"), "total_events")
    lists = [column("unavailable_columns"), column("before_unavailable_columns")]
    # The placeholder is for Debezium's readers; the lists are for ours, which need not guess.
    told = pc.or_(holds_placeholder(column("before")), holds_placeholder(column("after")))
    told = pc.or_(told, pc.or_(lists[0].is_valid(), lists[1].is_valid()))
    return join(
        '{"v":1',
        where(ambiguous(source), ',"source":', quoted(source)),
        known("primary_key", string_list(names), names),
        known("snapshot", snapshot(column("snapshot")), column("snapshot")),
        known("total_events", totals, totals),
        where(column("before_is_key_only"), ',"before_is_key_only":true'),
        where(told, ',"unavailable_columns":', string_list(lists[0])),
        where(told, ',"before_unavailable_columns":', string_list(lists[1])),
        "}",
    )  # fmt: skip
