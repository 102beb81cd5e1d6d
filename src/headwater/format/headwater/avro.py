"""`headwater-avro`: the envelope as a bare Avro datum, without container or schema id.

The datum does not say which schema wrote it. Cutting the two newer lists off would read as an older
datum, and a partial row would pass for a whole one (INV-10); so the reader never guesses: it reads
with the writer schema it was given. For data of producers that know only the envelope's first
twelve fields, or for readers that do, use `AvroFormat(writer_schema=EVENT_12)`; writing then
refuses an event whose unavailable columns it would lose. Likewise `AvroFormat(writer_schema=EVENT)`
refuses a logical message; datums of all other events have the same bytes in both schemas.

What other formats said of an event (its `extra`) follows the datum as one more Avro string. Events
that a source captured have none, and are the bare datum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import Message
from headwater.errors import ConfigError
from headwater.event import ENVELOPE_VERSION, EventBatch, Operation, are_messages
from headwater.format.columns import (
    UINT31,
    EnvelopeColumns,
    bad_record,
    check_names,
    check_ranges,
    unwritable,
)
from headwater.format.headwater.avro_schema import EVENT, EVENT_12, EVENT_WITH_MESSAGES, EXTRA
from headwater.format.headwater.avro_writer import datums
from headwater.format.headwater.image import images_of, read_image
from headwater.format.headwater.key import avro_keys
from headwater.format.jsontext import check_size
from headwater.format.library import missing_extra
from headwater.format.stash import checked_text, put_extra

try:
    import fastavro
    from fastavro.schema import SchemaParseException
except ModuleNotFoundError as exc:
    raise missing_extra("avro", exc) from exc

_RANGES = {
    "snapshot.chunk_index": UINT31,
    "transaction.total_events": UINT31,
    "transaction.event_index": UINT31,
}
_SNAPSHOT, _TRANSACTION = "io.rustcdc.SnapshotMetadata", "io.rustcdc.TransactionMetadata"
_LISTS = ("unavailable_columns", "before_unavailable_columns")
_SYMBOLS = ("", *(op.name for op in Operation))
_NUMBERS = {op.name: int(op) for op in Operation}

# What fastavro raises for bytes that are no datum of the schema.
_FAILURES = (
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    ArithmeticError,
    MemoryError,
    AttributeError,
    RecursionError,
    fastavro.read.SchemaResolutionError,
)


class AvroFormat:
    """Reads and writes bare datums of `writer_schema`, read as `EVENT_WITH_MESSAGES`."""

    def __init__(
        self, *, writer_schema: Mapping[str, Any] = EVENT_WITH_MESSAGES, sort_row_keys: bool = False
    ) -> None:
        self._writer = _parsed(writer_schema)
        given = dict(writer_schema)
        # Resolution costs time, so it is only asked for where datums differ.
        same = given in (EVENT, EVENT_WITH_MESSAGES)
        self._reader = None if same else _parsed(EVENT_WITH_MESSAGES)
        fields = {field["name"]: field["type"] for field in self._writer["fields"]}
        self._lost = tuple(name for name in _LISTS if name not in fields)
        self._has_messages = Operation.MESSAGE.name in _symbols(fields.get("op"))
        self._is_ours = same or given == EVENT_12
        self._sort_row_keys = sort_row_keys

    @property
    def name(self) -> str:
        """`headwater-avro`."""
        return "headwater-avro"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "avro/binary"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One datum per event; what the writer schema has no room for is refused."""
        check_ranges(batch, _RANGES)
        check_names(batch)
        for name in self._lost:
            row = pc.index(batch.column(name).is_valid(), value=True).as_py()
            if row >= 0:
                raise unwritable(row, f"the writer schema has no field {name}")
        row = -1 if self._has_messages else pc.index(are_messages(batch), value=True).as_py()
        if row >= 0:
            raise unwritable(row, "the writer schema has no symbol for a message")
        images = images_of(batch, sort_row_keys=self._sort_row_keys)
        if self._is_ours:
            return list(datums(batch, *images, lists=not self._lost).to_pylist())
        rows = zip(_members(batch, *images), batch.column("extra").to_pylist(), strict=True)
        return [self._write(index, datum, extra) for index, (datum, extra) in enumerate(rows)]

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a damaged, cut or overlong datum is a DataError with its index."""
        read = [self._read(index, record) for index, record in enumerate(records)]
        batch = put_extra(
            _columns([datum for datum, _ in read]).to_batch(), [extra for _, extra in read]
        )
        # fastavro reads an int as a long and does not mind its size.
        check_ranges(batch, _RANGES, bad_record)
        return batch

    def messages(self, batch: EventBatch) -> list[Message]:
        """Each event beside its key."""
        return list(map(Message, avro_keys(batch), self.encode(batch)))

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; one without a value says nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)

    def _write(self, index: int, datum: dict[str, Any], extra: str | None) -> bytes:
        out = BytesIO()
        try:
            fastavro.schemaless_writer(out, self._writer, datum)
            if extra is not None:
                fastavro.schemaless_writer(out, EXTRA, extra)
        except _FAILURES as exc:
            raise unwritable(index, f"does not fit the writer schema: {exc}") from exc
        return out.getvalue()

    def _read(self, index: int, record: bytes) -> tuple[dict[str, Any], str | None]:
        stream = BytesIO(record)
        try:
            check_size(record)
            datum: dict[str, Any] = fastavro.schemaless_reader(stream, self._writer, self._reader)
            datum["before"] = read_image(datum["before"])
            datum["after"] = read_image(datum["after"])
        except _FAILURES as exc:
            raise bad_record(index, f"not a datum of the writer schema: {exc}") from exc
        rest = record[stream.tell() :]
        return datum, _extra(index, rest) if rest else None


def _extra(index: int, rest: bytes) -> str | None:
    stream = BytesIO(rest)
    try:
        extra = checked_text(fastavro.schemaless_reader(stream, EXTRA, None))
    except _FAILURES as exc:
        raise bad_record(index, f"{len(rest)} bytes follow the datum") from exc
    if stream.tell() != len(rest):
        raise bad_record(index, f"{len(rest) - stream.tell()} bytes follow the datum")
    return extra


def _parsed(schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = fastavro.parse_schema(dict(schema))
        named = parsed["type"] == "record" and parsed["name"] == "io.rustcdc.Event"
    except (SchemaParseException, LookupError, TypeError, ValueError) as exc:
        raise ConfigError("avro-schema", f"not an Avro schema: {exc}") from exc
    if not named:
        raise ConfigError("avro-schema", "not a schema of the record io.rustcdc.Event")
    return parsed


def _symbols(kind: Any) -> Sequence[str]:
    return kind.get("symbols", ()) if isinstance(kind, dict) else ()


def _members(batch: EventBatch, *images: pa.Array) -> Iterable[dict[str, Any]]:
    """The events as fastavro takes them, for a schema whose order and defaults only it knows."""
    column = {name: batch.column(name).to_pylist() for name in batch.records.schema.names}
    for (
        before, after, op, source_name, offset, source_ts_ms, ts_ms, schema, table, primary_key,
        snapshot, transaction, key_only, unavailable, before_unavailable,
    ) in zip(
        *(image.to_pylist() for image in images),
        *(column[name] for name in (
            "op", "source_name", "offset", "source_ts_ms", "ts_ms", "table_schema", "table_name",
            "primary_key", "snapshot", "transaction", "before_is_key_only", *_LISTS,
        )),
        strict=True,
    ):  # fmt: skip
        if transaction is not None and transaction["total_events"] is None:
            transaction["total_events"] = 0
        # Naming a union's branch spares fastavro the search for the one that fits.
        yield {
            "before": None if before is None else before.encode(),
            "after": None if after is None else after.encode(),
            "op": _SYMBOLS[op],
            "source": {"source_name": source_name, "offset": offset, "timestamp": source_ts_ms},
            "ts": ts_ms,
            "schema": schema,
            "table": table,
            "primary_key": primary_key or [],
            "snapshot": None if snapshot is None else (_SNAPSHOT, snapshot),
            "transaction": None if transaction is None else (_TRANSACTION, transaction),
            "envelope_version": ENVELOPE_VERSION,
            "before_is_key_only": key_only,
            "unavailable_columns": unavailable or [],
            "before_unavailable_columns": before_unavailable or [],
        }


def _columns(data: Sequence[dict[str, Any]]) -> EnvelopeColumns:
    sources = [datum["source"] for datum in data]
    return EnvelopeColumns(
        before=[datum["before"] for datum in data],
        after=[datum["after"] for datum in data],
        op=[_NUMBERS[datum["op"]] for datum in data],
        source_name=[source["source_name"] for source in sources],
        offset=[source["offset"] for source in sources],
        source_ts_ms=[source["timestamp"] for source in sources],
        ts_ms=[datum["ts"] for datum in data],
        schema=[datum["schema"] for datum in data],
        table=[datum["table"] for datum in data],
        primary_key=[datum["primary_key"] or None for datum in data],
        snapshot=[_snapshot(datum["snapshot"]) for datum in data],
        transaction=[_transaction(datum["transaction"]) for datum in data],
        envelope_version=[datum["envelope_version"] for datum in data],
        before_is_key_only=[datum["before_is_key_only"] for datum in data],
        unavailable_columns=[datum["unavailable_columns"] for datum in data],
        before_unavailable_columns=[datum["before_unavailable_columns"] for datum in data],
    )


def _snapshot(value: dict[str, Any] | None) -> tuple[Any, Any, Any] | None:
    if value is None:
        return None
    return value["snapshot_id"], value["chunk_index"], value["is_last_chunk"]


def _transaction(value: dict[str, Any] | None) -> tuple[Any, Any, Any] | None:
    if value is None:
        return None
    return value["tx_id"], value["total_events"] or None, value["event_index"]
