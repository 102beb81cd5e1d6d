"""The raw cost: the library's own loop over members that were prepared before the clock starts.

- orjson: `dumps` of whole records, row images as dicts; `loads` of the same records.
- fastavro: `schemaless_writer` of dicts whose row images are bytes; `schemaless_reader` of datums.
- protobuf (upb): building a message of such dicts and serialising it; `FromString` of messages and
  nothing else, no field is touched.

None of them makes or takes columns, checks a row image, or keeps what another format said.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import fastavro
import orjson

from headwater.format._generated.event_pb2 import (
    Event,
    SnapshotMetadata,
    SourceMetadata,
    TransactionMetadata,
)
from headwater.format.headwater.avro_schema import EVENT

Row = dict[str, Any]
_SCHEMA = fastavro.parse_schema(EVENT)


def write_json(rows: Sequence[Row]) -> list[bytes]:
    return [orjson.dumps(row) for row in rows]


def read_json(records: Sequence[bytes]) -> list[Row]:
    return [orjson.loads(record) for record in records]


def write_avro(rows: Sequence[Row]) -> list[bytes]:
    records = []
    for row in rows:
        out = BytesIO()
        fastavro.schemaless_writer(out, _SCHEMA, row)
        records.append(out.getvalue())
    return records


def read_avro(records: Sequence[bytes]) -> list[Any]:
    return [fastavro.schemaless_reader(BytesIO(record), _SCHEMA, None) for record in records]


def write_protobuf(rows: Sequence[Row]) -> list[bytes]:
    return [_message(**row).SerializeToString() for row in rows]


def _message(*, source: Row, snapshot: Row | None, transaction: Row | None, **members: Any) -> Any:
    # Messages inside are built first: upb takes them quicker than dicts.
    return Event(
        source=SourceMetadata(**source),
        snapshot=None if snapshot is None else SnapshotMetadata(**snapshot),
        transaction=None if transaction is None else TransactionMetadata(**transaction),
        **members,
    )


def read_protobuf(records: Sequence[bytes]) -> list[Any]:
    return [Event.FromString(record) for record in records]
