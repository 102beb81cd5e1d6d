"""Columns of events from the rows of a decoded run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, event_ids
from headwater.event.schema import EVENT_SCHEMA, TRANSACTION
from headwater.source.postgres.decode.pgoutput import Rows
from headwater.source.postgres.decode.transactions import Table
from headwater.source.postgres.lsn import format_lsn
from headwater.source.postgres.shapes import Captured

SOURCE_NAME = "postgres"

Numbers = npt.NDArray[np.int64]


def row_events(
    uid: str, rows: Rows, captured: Sequence[Captured], table: Table, place: Numbers, index: Numbers
) -> pa.RecordBatch:
    """Events of row changes. `place` is each row's transaction, `index` its number in there."""
    offsets = offset_texts(table.commit_lsn, place, index)
    times = table.commit_ms[place]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.zeros(len(place), np.int64)),
            event_ids(uid, offsets.to_pylist()),
            pa.array(rows.op),
            _constant(SOURCE_NAME, len(place)),
            offsets,
            pa.array(times),
            pa.array(times),
            *_per_table(captured, rows.relation),
            rows.before,
            rows.after,
            pa.array(rows.before_is_key_only),
            _lists(rows.unavailable, len(place)),
            _lists(rows.before_unavailable, len(place)),
            pa.nulls(len(place), EVENT_SCHEMA.field("snapshot").type),
            pa.nulls(len(place), TRANSACTION),
            _schema_ids(captured, rows.relation),
            pa.nulls(len(place), pa.string()),  # context
            pa.nulls(len(place), pa.string()),  # extra
        ],
        schema=EVENT_SCHEMA,
    )


def offset_texts(commit_lsn: Numbers, place: Numbers, index: Numbers) -> pa.Array:
    """`16/B374D848:12`: the commit's position and the number within. The same on every replay."""
    prefixes = pa.array([format_lsn(int(lsn)) for lsn in commit_lsn])
    texts = pc.cast(pa.array(index), pa.string())
    return pc.binary_join_element_wise(prefixes.take(pa.array(place)), texts, ":")


def transaction_column(table: Table, place: Numbers, index: Numbers) -> pa.Array:
    """The transaction block of every event."""
    totals, known = table.totals(place)
    return pa.StructArray.from_arrays(
        [
            pa.array(table.xid[place]),
            pa.array(totals, pa.int64(), mask=~known),
            pa.array(index),
        ],
        fields=list(TRANSACTION),
    )


def with_columns(records: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """The records with some columns replaced."""
    for name, values in columns.items():
        place = EVENT_SCHEMA.get_field_index(name)
        records = records.set_column(place, EVENT_SCHEMA.field(place), values)
    return records


def snapshot_events(
    uid: str, captured: Captured, images: pa.Array, prefix: str, block: dict[str, Any], ts_ms: int
) -> EventBatch:
    """`read` events of row images; `prefix` and a row's number make its offset."""
    numbers = pc.cast(pa.array(np.arange(len(images))), pa.string())
    offsets = pc.binary_join_element_wise(pa.scalar(prefix), numbers, ":")
    schema = captured.schema
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets.to_pylist()),
            "op": int(Operation.READ),
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": ts_ms,
            "ts_ms": ts_ms,
            "table_schema": schema.table.schema,
            "table_name": schema.table.name,
            "primary_key": list(schema.primary_key) or None,
            "after": images,
            "snapshot": block,
            "schema_id": captured.schema_id,
        }
    )


def absent_events(
    uid: str,
    captured: Captured,
    keys: Sequence[str],
    prefix: str,
    block: dict[str, Any],
    ts_ms: int,
) -> EventBatch:
    """`delete` events of keys without a row. The snapshot in them says: found so, not changed."""
    offsets = [f"{prefix}:absent:{number}" for number in range(len(keys))]
    schema = captured.schema
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets),
            "op": int(Operation.DELETE),
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": ts_ms,
            "ts_ms": ts_ms,
            "table_schema": schema.table.schema,
            "table_name": schema.table.name,
            "primary_key": list(schema.primary_key),
            "before": list(keys),
            "before_is_key_only": True,
            "snapshot": block,
            "schema_id": captured.schema_id,
        }
    )


def truncation(captured: Captured) -> EventBatch:
    """All rows of the table are gone. Offset, time and transaction are given by the caller."""
    table = captured.schema.table
    return EventBatch.from_columns(
        {
            "op": [int(Operation.TRUNCATE)],
            "source_name": SOURCE_NAME,
            "table_schema": table.schema,
            "table_name": table.name,
            "primary_key": list(captured.schema.primary_key) or None,
            "schema_id": captured.schema_id,
        }
    )


def restart_events(uid: str, captured: Sequence[Captured], prefix: str, ts_ms: int) -> EventBatch:
    """Tables that start over: all of their rows follow."""
    offsets = [f"{prefix}:{each.schema.table}" for each in captured]
    joined = EventBatch.concat([truncation(each) for each in captured])
    times = pa.array([ts_ms] * len(captured), pa.int64())
    columns = {
        "offset": pa.array(offsets, pa.string()),
        "event_id": event_ids(uid, offsets),
        "ts_ms": times,
        "source_ts_ms": times,
    }
    return EventBatch(with_columns(joined.records, columns))


def _constant(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _lists(found: pa.Array | None, count: int) -> pa.Array:
    return pa.nulls(count, pa.list_(pa.string())) if found is None else found


def _per_table(captured: Sequence[Captured], relation: npt.NDArray[np.int32]) -> list[pa.Array]:
    """Schema name, table name and key: one value per relation, spread over the rows."""
    tables = [each.schema.table for each in captured]
    keys = [list(each.schema.primary_key) or None for each in captured]
    return [
        _spread(pa.array([table.schema for table in tables], pa.string()), relation),
        _spread(pa.array([table.name for table in tables], pa.string()), relation),
        _spread(pa.array(keys, pa.list_(pa.string())), relation),
    ]


def _schema_ids(captured: Sequence[Captured], relation: npt.NDArray[np.int32]) -> pa.Array:
    ids = pa.array([each.schema_id for each in captured], pa.int64())
    return _spread(ids, relation)


def _spread(values: pa.Array, places: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """The value at each place. Mostly they are all one: repeating is much cheaper than taking."""
    if len(values) == 1 and len(places):
        return pa.repeat(values[0], len(places))
    return values.take(pa.array(places))
