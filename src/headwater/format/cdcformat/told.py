"""How a cascade travels with its event: in `extra`, as what the format's record says beyond it.

So it goes through the log, Spark and every other format like anything else that a record said. What
stands here is also read without parsing, because most records of a busy stream may have one.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EVENT_SCHEMA, EventBatch
from headwater.format.text import TEXT, join

_EXTRA = EVENT_SCHEMA.get_field_index("extra")
_HEAD, _TAIL = '{"cdc-format":{"~":{"cascade":{"+":{', "}}}}}"
_BLOCK = '{"~":{"custom_fields":{"~":{"headwater":{"+":{%s}}}}}}'
# What the block of an event says whose transaction was too large to be folded.
TORN_MEMBERS = ',"cascade_complete":false'
_TORN = '{"cdc-format":{"~":{"metadata":' + _BLOCK + "}}}"
_TORN_ROW = _TORN % '"granularity":"row","cascade_complete":false'


@dataclass(frozen=True, slots=True)
class Told:
    """Members of the cascades, null where none is told; which events are torn; the other extras."""

    cascades: pa.Array
    torn: pa.Array
    rest: EventBatch


def tell(batch: EventBatch, cascades: pa.Array) -> EventBatch:
    """The batch with these members of cascades; an event that says something already keeps it."""
    texts = join(_HEAD, cascades, _TAIL)
    return _with(batch, pc.and_(cascades.is_valid(), batch.column("extra").is_null()), texts)


def tear(batch: EventBatch) -> EventBatch:
    """The batch with the mark that nobody worked out what belongs together."""
    texts = pa.repeat(pa.scalar(_TORN_ROW, TEXT), len(batch))
    return _with(batch, batch.column("extra").is_null(), texts)


def hear(batch: EventBatch) -> Told | None:
    """What was told, taken out of the extras; None where nothing was."""
    extras = batch.column("extra")
    if extras.null_count == len(extras):
        return None
    told = pc.and_(pc.starts_with(extras, _HEAD), pc.ends_with(extras, _TAIL))
    torn = pc.equal(extras, _TORN_ROW).fill_null(fill_value=False)
    octets = pc.if_else(told.fill_null(fill_value=False), extras, None).cast(pa.large_binary())
    members = pc.binary_slice(octets, len(_HEAD), -len(_TAIL)).cast(TEXT)
    others = pc.if_else(pc.or_(told, torn).fill_null(fill_value=False), None, extras)
    return Told(members, torn, _put(batch, others))


def _with(batch: EventBatch, chosen: pa.Array, texts: pa.Array) -> EventBatch:
    return _put(batch, pc.if_else(chosen, texts.cast(pa.string()), batch.column("extra")))


def _put(batch: EventBatch, extras: pa.Array) -> EventBatch:
    records = batch.records.set_column(_EXTRA, EVENT_SCHEMA.field(_EXTRA), extras)
    return EventBatch(records, batch.closes_transaction)
