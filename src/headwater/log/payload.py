"""Bytes of a stored batch: an Arrow record batch message, compressed, and its checksum.

Only the record batch message is stored. The schema message is the same for every batch of a layout
version and would double the size of a small commit. Nor is the column `extra` stored where it is
empty, as it is for everything that a source captured: a bit of the size in front says that it is
there. Batches from before there was such a column read the same way.

The message is compressed as a whole: Arrow's own compression works buffer by buffer, and a small
commit has fifty tiny ones. Zstandard, because every byte is written twice (write-ahead log, then
file): half of LZ4's size makes it the quicker one as soon as a disk is in the way.
"""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.ipc
import xxhash

from headwater.event import EVENT_SCHEMA, EventBatch

_CODEC = pa.Codec("zstd", compression_level=1)
_MESSAGE_SIZE = struct.Struct("<Q")  # in front of the compressed message
_HAS_EXTRA = 1 << 63  # in the size: no message is that long
_EXTRA = EVENT_SCHEMA.get_field_index("extra")
_WITHOUT_EXTRA = EVENT_SCHEMA.remove(_EXTRA)


def encode(batch: EventBatch) -> bytes:
    """The compressed record batch message of the batch."""
    records = batch.records
    flag = _HAS_EXTRA if records.column(_EXTRA).null_count < len(batch) else 0
    message = (records if flag else records.remove_column(_EXTRA)).serialize()
    return b"".join((_MESSAGE_SIZE.pack(message.size | flag), _CODEC.compress(message)))


def decode(payload: bytes, *, closes_transaction: bool) -> EventBatch:
    """The batch of `encode`'s bytes; any damage raises ValueError."""
    try:
        (size,) = _MESSAGE_SIZE.unpack_from(payload)
        message = _CODEC.decompress(memoryview(payload)[_MESSAGE_SIZE.size :], size & ~_HAS_EXTRA)
        schema = EVENT_SCHEMA if size & _HAS_EXTRA else _WITHOUT_EXTRA
        records = pa.ipc.read_record_batch(message, schema)
        records.validate()
    except (struct.error, pa.ArrowException, OSError, EOFError, MemoryError) as exc:
        raise ValueError(f"not a record batch: {exc}") from exc
    return EventBatch(_whole(records), closes_transaction)


def _whole(records: pa.RecordBatch) -> pa.RecordBatch:
    if records.num_columns == len(EVENT_SCHEMA):
        return records
    columns = [*records.columns, pa.nulls(records.num_rows, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_SCHEMA)


def checksum(first_seq: int, last_seq: int, payload: bytes, *, closes_transaction: bool) -> bytes:
    """128 bits over the bytes and their place, so that a moved row is damage as well."""
    digest = xxhash.xxh3_128(struct.pack("<qq?", first_seq, last_seq, closes_transaction))
    digest.update(payload)
    return bytes(digest.digest())
