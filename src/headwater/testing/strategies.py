"""Hypothesis strategies for events and batches: every valid shape, the awkward ones included.

What they draw keeps the envelope's rules (`headwater.event.validate`) and fits every carrier of the
envelope. Needs hypothesis, a development tool: install it beside your tests.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from headwater.event import (
    Event,
    EventBatch,
    Operation,
    Origin,
    Snapshot,
    Transaction,
    decode_row,
    message_image,
)

Row = dict[str, Any]

_ROW_OPERATIONS = (Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ)
_MAX_INT31, _MAX_INT63 = 2**31 - 1, 2**63 - 1


@cache  # building a strategy costs more than drawing from it
def texts(*, min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[str]:
    """Unicode text with NUL and astral characters; never half a surrogate pair."""
    alphabet = st.characters(exclude_categories=["Cs"])
    awkward = st.sampled_from(["\x00", '"', "\\", "\n", "𝄞", "\u2028", "é", "NaN", "null"])
    return st.text(alphabet, min_size=min_size, max_size=max_size) | awkward


@cache
def json_values() -> st.SearchStrategy[Any]:
    """JSON values as row images hold them: integers beyond 64 bits, finite floats, nesting."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts()
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(texts(max_size=4), inner, max_size=3)
        ),
        max_leaves=6,
    )


@st.composite
def rows(draw: st.DrawFn, key: tuple[str, ...] = ()) -> Row:
    """A row image; it holds all columns of `key`, before the others, as tables have them."""
    keys: Row = {name: draw(st.integers(-(2**63), 2**63 - 1) | texts()) for name in key}
    others = draw(st.dictionaries(texts(min_size=1, max_size=6), json_values(), max_size=4))
    return {**others, **keys} if draw(st.booleans()) else {**keys, **others}


@cache
def keys() -> st.SearchStrategy[tuple[str, ...] | None]:
    """Names of key columns: none, one or several."""
    names = st.lists(texts(min_size=1, max_size=6), min_size=1, max_size=3, unique=True)
    return st.none() | names.map(tuple)


@st.composite
def events(
    draw: st.DrawFn,
    operations: tuple[Operation, ...] = tuple(Operation),
    transaction: Transaction | None = None,
) -> Event:
    """A valid event of one of the operations."""
    op = draw(st.sampled_from(operations))
    if op is Operation.MESSAGE:
        return draw(_messages(transaction))
    key = draw(keys())
    before, key_only = draw(_before(op, key))
    after = draw(rows(key or ())) if op in _WITH_AFTER else None
    has_rows = op in _ROW_OPERATIONS
    return Event(
        op=op,
        source=draw(_origins()),
        ts_ms=draw(st.integers(1, _MAX_INT63)),
        table=draw(texts(min_size=1)),
        schema=draw(st.none() | texts()),
        primary_key=key,
        before=before,
        after=after,
        snapshot=draw(snapshots()) if op is Operation.READ else None,
        transaction=transaction,
        before_is_key_only=key_only,
        unavailable_columns=draw(_unavailable(after)) if has_rows else (),
        before_unavailable_columns=draw(_unavailable(before)) if has_rows and not key_only else (),
        event_id=draw(st.uuids()),
        schema_id=draw(st.integers(0, _MAX_INT63)),
        context=draw(st.none() | rows()),
    )


@st.composite
def _messages(draw: st.DrawFn, transaction: Transaction | None) -> Event:
    """A logical message: it concerns no table and no row."""
    return Event(
        op=Operation.MESSAGE,
        source=draw(_origins()),
        ts_ms=draw(st.integers(1, _MAX_INT63)),
        table="",
        after=decode_row(message_image(draw(texts()), draw(st.binary(max_size=20)))),
        transaction=transaction,
        event_id=draw(st.uuids()),
        context=draw(st.none() | rows()),
    )


@cache
def _origins() -> st.SearchStrategy[Origin]:
    name = texts(min_size=1)
    return st.builds(Origin, name, name, st.integers(0, _MAX_INT63))


_WITH_AFTER = (Operation.INSERT, Operation.UPDATE, Operation.READ, Operation.SCHEMA_CHANGE)


@st.composite
def _before(draw: st.DrawFn, op: Operation, key: tuple[str, ...] | None) -> tuple[Row | None, bool]:
    """The before image an operation may have, and whether it is only the key."""
    optional = op in (Operation.UPDATE, Operation.READ, Operation.SCHEMA_CHANGE)
    if op is not Operation.DELETE and not (optional and draw(st.booleans())):
        return None, False
    row = draw(rows(key or ()))
    if key is None or op not in (Operation.UPDATE, Operation.DELETE) or not draw(st.booleans()):
        return row, False
    return {name: row[name] for name in key}, True


@st.composite
def _unavailable(draw: st.DrawFn, image: Row | None) -> tuple[str, ...]:
    if image is None:
        return ()
    names = texts(min_size=1, max_size=6).filter(lambda name: name not in image)
    return tuple(draw(st.lists(names, max_size=2, unique=True)))


@cache
def snapshots() -> st.SearchStrategy[Snapshot | None]:
    """The snapshot block of a read event, or none."""
    return st.none() | st.builds(Snapshot, texts(), st.integers(0, _MAX_INT31), st.booleans())


@st.composite
def transactions(
    draw: st.DrawFn, max_events: int = 4, operations: tuple[Operation, ...] = tuple(Operation)
) -> list[Event]:
    """The events of one transaction, in order, with or without their total."""
    count = draw(st.integers(1, max_events))
    return draw(_begun(count, count, operations))


@st.composite
def _begun(
    draw: st.DrawFn, count: int, room: int, operations: tuple[Operation, ...]
) -> list[Event]:
    """The first events of a transaction of `count`: as many as there is room for."""
    tx_id = draw(st.integers(0, _MAX_INT63))
    total = draw(st.none() | st.just(count))
    return [
        draw(events(operations, Transaction(tx_id, total, index)))
        for index in range(min(count, room))
    ]


@st.composite
def event_lists(
    draw: st.DrawFn,
    min_size: int = 0,
    max_size: int = 6,
    operations: tuple[Operation, ...] = tuple(Operation),
) -> list[Event]:
    """Events as a log would hold them: alone, in whole transactions and from snapshots."""
    # How large each transaction is comes first: an event that is cut off is dear to draw.
    alone_or_counts = st.none() | st.integers(1, 4)
    found: list[Event] = []
    for count in draw(st.lists(alone_or_counts, min_size=min_size, max_size=max_size)):
        if len(found) == max_size:
            break
        if count is None:
            found.append(draw(events(operations)))
        else:
            found += draw(_begun(count, max_size - len(found), operations))
    return found


@st.composite
def event_batches(
    draw: st.DrawFn,
    min_size: int = 0,
    max_size: int = 6,
    operations: tuple[Operation, ...] = tuple(Operation),
) -> EventBatch:
    """A valid batch, numbered from 0 upwards at any place in a log; may be a slice of another."""
    batch = EventBatch.from_events(draw(event_lists(min_size, max_size, operations)))
    batch = batch.with_sequence(draw(st.integers(0, 2**62)))
    spare = len(batch) - min_size
    # A slice has buffers that begin elsewhere, which column code must respect.
    return batch.slice(draw(st.integers(0, spare))) if draw(st.booleans()) else batch
