"""`opencdc`: one OpenCDC record per event, as JSON.

key, before and after are always there, null where the event has none: Conduit's own reader needs
them. An operation that OpenCDC has no word for is `Operation(0)`, which its destinations refuse,
with the true one in `headwater.op`.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation
from headwater.format.columns import check_ranges
from headwater.format.jsontext import dumps
from headwater.format.opencdc import metadata as keys
from headwater.format.opencdc.reader import to_columns
from headwater.format.rows import event_keys, key_texts
from headwater.format.stash import Site, dress, read_records
from headwater.format.text import (
    TEXT,
    as_string,
    join,
    known,
    quoted,
    snapshot,
    string_list,
    transaction,
    where,
)

FAMILY = "opencdc"
SITE = Site(("metadata", keys.EXTRA), as_text=True)

_UNKNOWN = "Operation(0)"
_WORDS = {
    Operation.INSERT: "create",
    Operation.UPDATE: "update",
    Operation.DELETE: "delete",
    Operation.READ: "snapshot",
}
_OPERATIONS = pa.array(["", *(f'"{_WORDS.get(op, _UNKNOWN)}"' for op in Operation)], TEXT)
_OTHER = pa.array([None, *(None if op in _WORDS else op.label for op in Operation)], TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCdcFormat:
    """Reads and writes OpenCDC records in JSON."""

    labels: keys.Labels = field(default_factory=keys.Labels)

    @property
    def name(self) -> str:
        """`opencdc`."""
        return "opencdc"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/json"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One JSON object per event, composed column by column."""
        return dress(FAMILY, SITE, self._natural(batch), batch)

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record that is not OpenCDC is a DataError with its index."""
        return read_records(FAMILY, SITE, records, to_columns, self._natural)

    def _natural(self, batch: EventBatch) -> pa.Array:
        check_ranges(batch, {})
        column = batch.column
        return join(
            '{"position":"', _base64(column("offset")),
            '","operation":', pc.take(_OPERATIONS, column("op")),
            f',"metadata":{{"{keys.VERSION}":"v1"',
            f',"{keys.CREATED_AT}":"', _nanoseconds(column("source_ts_ms")),
            f'","{keys.READ_AT}":"', _nanoseconds(column("ts_ms")),
            f'","{keys.COLLECTION}":', quoted(column("table_name")),
            _labels(self.labels, column("schema_id")),
            ',"headwater.source":', quoted(column("source_name")),
            *_ours(batch),
            '},"key":', key_texts(event_keys(batch)),
            ',"payload":{"before":', column("before"),
            ',"after":', column("after"),
            "}}",
        )  # fmt: skip


def _ours(batch: EventBatch) -> Iterable[pa.Array | str]:
    """What the envelope knows and OpenCDC does not, one key each."""
    column = batch.column
    other = pc.take(_OTHER, column("op"))
    yield known("headwater.op", quoted(other), other)
    yield known("headwater.schema", quoted(column("table_schema")), column("table_schema"))
    names = ("primary_key", "unavailable_columns", "before_unavailable_columns")
    for name in names:
        lists = column(name)
        if lists.null_count < len(lists):
            yield known(f"headwater.{name}", as_string(string_list(lists)), lists)
    for name, write in (("snapshot", snapshot), ("transaction", transaction)):
        blocks = column(name)
        if blocks.null_count < len(blocks):
            yield known(f"headwater.{name}", as_string(write(blocks)), blocks)
    yield where(column("before_is_key_only"), ',"headwater.before_is_key_only":"true"')


def _labels(labels: keys.Labels, schema_ids: pa.Array) -> pa.Array | str:
    constants = "".join(
        f",{dumps(name)}:{dumps(value)}" for name, value in labels.constants.items()
    )
    if not labels.key_subjects and not labels.payload_subjects:
        return constants
    written = {
        number: constants
        + _subject(keys.KEY_SUBJECT, keys.KEY_VERSION, labels.key_subjects, number)
        + _subject(keys.PAYLOAD_SUBJECT, keys.PAYLOAD_VERSION, labels.payload_subjects, number)
        for number in schema_ids.unique().to_pylist()
    }
    return pa.array([written[number] for number in schema_ids.to_pylist()], TEXT)


def _subject(
    subject: str, version: str, subjects: Mapping[int, keys.Subject], schema_id: int
) -> str:
    """Both keys or neither: Conduit calls one alone a fault of the connector."""
    found = subjects.get(schema_id)
    if found is None:
        return ""
    return f',"{subject}":{dumps(found.subject)},"{version}":"{found.version}"'


def _base64(offsets: pa.Array) -> pa.Array:
    return pa.array([b2a_base64(o.encode(), newline=False).decode() for o in offsets.to_pylist()])


def _nanoseconds(times_ms: pa.Array) -> pa.Array:
    """As text: a time that 64 bits cannot hold in nanoseconds stays exact."""
    zero = pc.equal(times_ms, 0)
    return pc.if_else(zero, pa.scalar("0", TEXT), join(times_ms, "000000"))
