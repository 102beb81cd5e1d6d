"""`headwater-protobuf`: the envelope as a bare message of proto/event.proto, without length prefix.

Protobuf has no end mark: what a message lost at its end, or gained as unknown fields, cannot be
seen. A carrier that may cut records must guard their length itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.contract import Message
from headwater.errors import MachineError
from headwater.event import EventBatch
from headwater.format.columns import (
    UINT32,
    UINT63,
    EnvelopeColumns,
    bad_record,
    check_names,
    check_ranges,
)
from headwater.format.headwater.image import images_of, read_image
from headwater.format.headwater.key import protobuf_keys
from headwater.format.headwater.protobuf_writer import events
from headwater.format.jsontext import check_size
from headwater.format.library import missing_extra
from headwater.format.stash import checked_text, put_extra

try:
    from google.protobuf.message import DecodeError
except ModuleNotFoundError as exc:
    raise missing_extra("protobuf", exc) from exc

try:
    from headwater.format._generated.event_pb2 import Event
except ModuleNotFoundError as exc:
    raise MachineError("protobuf-not-built", "the generated Protobuf module is missing") from exc

_RANGES = {
    "source_ts_ms": UINT63,
    "ts_ms": UINT63,
    "snapshot.chunk_index": UINT32,
    "transaction.tx_id": UINT63,
    "transaction.total_events": UINT32,
    "transaction.event_index": UINT32,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufFormat:
    """Reads and writes messages of the envelope. Unknown fields are skipped."""

    sort_row_keys: bool = False

    @property
    def name(self) -> str:
        """`headwater-protobuf`."""
        return "headwater-protobuf"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/x-protobuf"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One message per event; a number outside its field's range is refused."""
        check_ranges(batch, _RANGES)
        check_names(batch)
        images = images_of(batch, sort_row_keys=self.sort_row_keys)
        return list(events(batch, *images).to_pylist())

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; bytes that are no message of the envelope are a DataError with its index."""
        befores, afters, extras, messages = [], [], [], []
        for index, record in enumerate(records):
            try:
                check_size(record)
                message = Event.FromString(record)
                befores.append(_image(message, "before"))
                afters.append(_image(message, "after"))
                extra = message.headwater_extra
                extras.append(checked_text(extra) if extra else None)
            except (DecodeError, ValueError) as exc:
                raise bad_record(index, f"not a message of the envelope: {exc}") from exc
            messages.append(message)
        return put_extra(_columns(befores, afters, messages).to_batch(), extras)

    def messages(self, batch: EventBatch) -> list[Message]:
        """Each event beside its key."""
        return list(map(Message, protobuf_keys(batch), self.encode(batch)))

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; one without a value says nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)


def _image(message: Any, name: str) -> str | None:
    return read_image(getattr(message, name)) if message.HasField(name) else None


def _columns(
    befores: Sequence[str | None], afters: Sequence[str | None], messages: Sequence[Any]
) -> EnvelopeColumns:
    sources = [message.source for message in messages]
    return EnvelopeColumns(
        before=befores,
        after=afters,
        op=[message.op for message in messages],
        source_name=[source.source_name for source in sources],
        offset=[source.offset for source in sources],
        source_ts_ms=[source.timestamp for source in sources],
        ts_ms=[message.ts for message in messages],
        schema=[message.schema if message.HasField("schema") else None for message in messages],
        table=[message.table for message in messages],
        primary_key=[list(message.primary_key) or None for message in messages],
        snapshot=[_snapshot(message) for message in messages],
        transaction=[_transaction(message) for message in messages],
        envelope_version=[message.envelope_version for message in messages],
        before_is_key_only=[message.before_is_key_only for message in messages],
        unavailable_columns=[list(message.unavailable_columns) for message in messages],
        before_unavailable_columns=[
            list(message.before_unavailable_columns) for message in messages
        ],
    )


def _snapshot(message: Any) -> tuple[str, int, bool] | None:
    if not message.HasField("snapshot"):
        return None
    snapshot = message.snapshot
    return snapshot.snapshot_id, snapshot.chunk_index, snapshot.is_last_chunk


def _transaction(message: Any) -> tuple[int, int | None, int] | None:
    if not message.HasField("transaction"):
        return None
    transaction = message.transaction
    return transaction.tx_id, transaction.total_events or None, transaction.event_index
