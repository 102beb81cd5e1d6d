"""Bytes of a stored batch: an Arrow record batch message, compressed, and its checksum.

Only the record batch message is stored. The schema message is the same for every batch of a layout
version and would double the size of a small commit.

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


def encode(batch: EventBatch) -> bytes:
    """The compressed record batch message of the batch."""
    message = batch.records.serialize()
    return b"".join((_MESSAGE_SIZE.pack(message.size), _CODEC.compress(message)))


def decode(payload: bytes, *, closes_transaction: bool) -> EventBatch:
    """The batch of `encode`'s bytes; any damage raises ValueError."""
    try:
        (size,) = _MESSAGE_SIZE.unpack_from(payload)
        message = _CODEC.decompress(memoryview(payload)[_MESSAGE_SIZE.size :], size)
        records = pa.ipc.read_record_batch(message, EVENT_SCHEMA)
        records.validate()
    except (struct.error, pa.ArrowException, OSError, EOFError, MemoryError) as exc:
        raise ValueError(f"not a record batch: {exc}") from exc
    return EventBatch(records, closes_transaction)


def checksum(first_seq: int, last_seq: int, payload: bytes, *, closes_transaction: bool) -> bytes:
    """128 bits over the bytes and their place, so that a moved row is damage as well."""
    digest = xxhash.xxh3_128(struct.pack("<qq?", first_seq, last_seq, closes_transaction))
    digest.update(payload)
    return bytes(digest.digest())
