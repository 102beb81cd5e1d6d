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

CUT_MEMBER = '"cascade_complete":false'

_EXTRA = EVENT_SCHEMA.get_field_index("extra")
_HEAD, _TAIL = '{"cdc-format":{"~":{"cascade":{"+":{', "}}}}}"
_BLOCK = '{"~":{"custom_fields":{"~":{"headwater":{"+":{%s}}}}}}'
_CUT_TAIL = '}},"metadata":' + _BLOCK % CUT_MEMBER + "}}}"


@dataclass(frozen=True, slots=True)
class Told:
    """Members of the cascades, null where none is told; whose lists are cut; the other extras."""

    cascades: pa.Array
    cut: pa.Array
    rest: EventBatch


def tell(batch: EventBatch, cascades: pa.Array, cut: pa.Array) -> EventBatch:
    """The batch with these members of cascades; an event that says something already keeps it.

    `cut` is true where a list leaves something out.
    """
    tails = pc.take(pa.array([_TAIL, _CUT_TAIL], TEXT), cut.cast(pa.int8()))
    extras = batch.column("extra")
    chosen = pc.and_(cascades.is_valid(), extras.is_null())
    texts = join(_HEAD, cascades, tails).cast(pa.string())
    return _put(batch, pc.if_else(chosen, texts, extras))


def hear(batch: EventBatch) -> Told | None:
    """What was told, taken out of the extras; None where nothing was."""
    extras = batch.column("extra")
    if extras.null_count == len(extras):
        return None
    told = pc.and_(pc.starts_with(extras, _HEAD), pc.ends_with(extras, _TAIL))
    told = told.fill_null(fill_value=False)
    cut = pc.and_(told, pc.ends_with(extras, _CUT_TAIL)).fill_null(fill_value=False)
    octets = pc.if_else(told, extras, None).cast(pa.large_binary())
    members = pc.binary_slice(octets, len(_HEAD), -len(_TAIL))
    if pc.any(cut, min_count=0).as_py():
        members = pc.if_else(cut, pc.binary_slice(octets, len(_HEAD), -len(_CUT_TAIL)), members)
    return Told(members.cast(TEXT), cut, _put(batch, pc.if_else(told, None, extras)))


def _put(batch: EventBatch, extras: pa.Array) -> EventBatch:
    records = batch.records.set_column(_EXTRA, EVENT_SCHEMA.field(_EXTRA), extras)
    return EventBatch(records, batch.closes_transaction)
