"""Bytes of a stored batch: an Arrow record batch message, LZ4, and its checksum.

Only the record batch message is stored. The schema message is the same for every batch of a layout
version and would double the size of a small commit.
"""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.ipc
import xxhash

from headwater.event import EVENT_SCHEMA, EventBatch

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
_SCHEMA_MESSAGE_BYTES = EVENT_SCHEMA.serialize().size


def encode(batch: EventBatch) -> memoryview:
    """The record batch message of the batch, without a copy."""
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, EVENT_SCHEMA, options=_OPTIONS).write_batch(batch.records)
    return memoryview(sink.getvalue())[_SCHEMA_MESSAGE_BYTES:]


def decode(payload: bytes, *, closes_transaction: bool) -> EventBatch:
    """The batch of a record batch message; any damage raises ValueError."""
    try:
        message = pa.ipc.read_message(payload)
        records = pa.ipc.read_record_batch(message, EVENT_SCHEMA)
        records.validate()
    except (pa.ArrowException, OSError, EOFError) as exc:
        raise ValueError(f"not a record batch: {exc}") from exc
    return EventBatch(records, closes_transaction)


def checksum(
    first_seq: int, last_seq: int, payload: bytes | memoryview, *, closes_transaction: bool
) -> bytes:
    """128 bits over the bytes and their place, so that a moved row is damage as well."""
    digest = xxhash.xxh3_128(struct.pack("<qq?", first_seq, last_seq, closes_transaction))
    digest.update(payload)
    return bytes(digest.digest())
