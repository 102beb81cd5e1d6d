"""Identity of an event: the id that every replay repeats, and the content fingerprint (INV-8)."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import numpy as np
import pyarrow as pa

from headwater.errors import DataError

if TYPE_CHECKING:
    from headwater.event.envelope import Event

# uuid5(DNS namespace, "headwater"), so that ids of other systems cannot collide with ours.
NAMESPACE = uuid5(UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "headwater")


def event_ids(source_identity: str, offsets: Iterable[str]) -> pa.Array:
    """UUIDv5 of source identity and offset, as a column: one SHA-1 per event and no UUID object."""
    begun = hashlib.sha1(uuid5(NAMESPACE, source_identity).bytes, usedforsecurity=False).copy
    digests = []
    for offset in offsets:
        hasher = begun()
        hasher.update(offset.encode())
        digests.append(hasher.digest())
    ids = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 20)[:, :16].copy()
    ids[:, 6] = ids[:, 6] & 0x0F | 0x50  # version 5
    ids[:, 8] = ids[:, 8] & 0x3F | 0x80  # RFC 9562 variant
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids)])


_HEX = np.frombuffer(b"".join(f"{byte:02x}".encode() for byte in range(256)), dtype="S2")


def uuid_strings(ids: pa.Array) -> pa.Array:
    """A column of 16-byte ids as UUID text, without an object per row."""
    count = len(ids)
    if count == 0:
        return pa.array([], pa.string())
    raw = np.frombuffer(ids.buffers()[1], dtype=np.uint8)[ids.offset * 16 :][: count * 16]
    pairs = _HEX[raw.reshape(count, 16)].view("S1").reshape(count, 32)
    text = np.full((count, 36), b"-", dtype="S1")
    target = [i for i in range(36) if i not in (8, 13, 18, 23)]
    text[:, target] = pairs
    offsets = np.arange(count + 1, dtype=np.int32) * 36
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(offsets.tobytes()), pa.py_buffer(text.tobytes())
    )


def fingerprint(event: Event) -> str:
    """SHA-256 over the fields that identify a change's content, in the envelope's fixed layout.

    Times, the snapshot block and the unavailable lists are left out on purpose, so that a change
    read twice has one fingerprint.
    """
    source = event.source
    if not source.source_name or not source.offset:
        raise DataError("event-invalid", "a fingerprint needs a source name and an offset")
    digest = hashlib.sha256(b"rustcdc/v1/fingerprint\0")
    for text in (source.source_name, source.offset, event.table, event.op.label):
        digest.update(_sized(text.encode()))
    names = event.primary_key or ()
    digest.update(struct.pack("<Q", len(names)))
    for name in names:
        digest.update(_sized(name.encode()))
    if event.transaction is None:
        digest.update(b"\0")
    else:
        tx = event.transaction
        digest.update(b"\1")
        digest.update(struct.pack("<QII", tx.tx_id, tx.event_index, tx.total_events or 0))
    for image in (event.before, event.after):
        digest.update(b"\0" if image is None else b"\1" + _sized(_sorted_json(image)))
    return digest.hexdigest()


def _sized(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def _sorted_json(image: dict[str, object]) -> bytes:
    return json.dumps(image, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
