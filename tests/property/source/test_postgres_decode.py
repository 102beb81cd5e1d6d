"""The decoder against a plain one, on anything the protocol allows and much that it does not.

INV-10 (whole keys, partial rows) is decided where images are made: here.
"""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import CorruptionError, DataError
from headwater.source.postgres.decode.pgoutput import (
    Control,
    Decoded,
    Decoder,
    LogicalMessage,
    Origin,
    Relation,
    RelationSeen,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    TypeSeen,
)
from tests.unit.source.postgres import wire
from tests.unit.source.postgres.reference import (
    Change,
    MalformedError,
    NotTextError,
    Reference,
    TwoPhaseError,
)

OIDS = (10, 11, 2**31 + 5)
SHAPES = (
    "id* name",
    "name id*",
    "id* part* -secret long",
    "only",
    "-only",
    "",
    'id* ä"b\\ x y z w',
)
# Without surrogates, which no UTF-8 has; short, or most of the time goes into long texts.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
XIDS = st.integers(1, 2**32 - 1)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """A sequence of messages as a server could send it."""
    known: dict[int, Relation] = {}
    inside = False
    messages: list[bytes] = []
    for _ in range(draw(st.integers(0, 25))):
        step = draw(st.sampled_from("RRIIIIIUUUUUUDDDBMTYOSEcA"))
        xid = draw(XIDS) if inside else None
        if step == "R" or (step in "IUDT" and not known):
            relation = wire.table(
                draw(st.sampled_from(OIDS)),
                draw(st.sampled_from(SHAPES)),
                identity=draw(st.sampled_from("dfin")),
            )
            known[relation.oid] = relation
            messages.append(wire.relation(relation, xid))
        elif step in "IUD":
            messages.append(
                draw(row_changes(step, draw(st.sampled_from(list(known.values()))), xid))
            )
        elif step in "SE":
            messages.append(wire.stream_stop() if inside else wire.stream_start(draw(XIDS)))
            inside = not inside
        elif step in "TMYO":
            tables = draw(st.lists(st.sampled_from(list(known) or [0]), max_size=2 if known else 0))
            messages.append(
                {
                    "T": wire.truncate(tables, draw(st.integers(0, 3)), xid),
                    "M": wire.message(draw(TEXTS).replace("\0", ""), draw(st.binary()), xid=xid),
                    "Y": wire.named_type(5, "mood", xid),
                    "O": wire.origin("other"),
                }[step]
            )
        elif not inside:
            messages.append(draw(borders(step)))
    return messages


def borders(step: str) -> st.SearchStrategy[bytes]:
    numbers = st.integers(-(2**63), 2**63 - 1)
    if step == "A":
        return st.builds(wire.stream_abort, XIDS, XIDS, parallel=st.booleans())
    if step == "c":
        return st.builds(wire.stream_commit, XIDS, numbers, numbers, numbers)
    begin = st.builds(wire.begin, XIDS, numbers, numbers)
    return begin | st.builds(wire.commit, numbers, numbers, numbers)


@st.composite
def row_changes(draw: st.DrawFn, step: str, relation: Relation, xid: int | None) -> bytes:
    texts = [
        st.integers(-(2**63), 2**63 - 1).map(str) if column.is_key else TEXTS
        for column in relation.columns
    ]
    left_out = st.none() | st.just(wire.UNCHANGED)
    row = st.tuples(*[text | left_out for text in texts])
    key = st.tuples(
        *[text if c.is_key else st.none() for c, text in zip(relation.columns, texts, strict=True)]
    )
    if step == "I":
        return wire.insert(relation.oid, draw(row), xid)
    kind = draw(st.sampled_from("KO" if step == "D" else "KON"))
    old: dict[str, Any] = {"K": {"key": draw(key)}, "O": {"old": draw(row)}, "N": {}}[kind]
    if step == "D":
        return wire.delete(relation.oid, **old, xid=xid)
    return wire.update(relation.oid, draw(row), **old, xid=xid)


def changes_of(decoded: Decoded) -> list[Change]:
    rows, count = decoded.rows, len(decoded.rows.message)
    columns = zip(
        rows.message.tolist(),
        ["?IUD"[op] for op in rows.op.tolist()],
        [decoded.relations[number] for number in rows.relation.tolist()],
        rows.before.to_pylist(),
        rows.after.to_pylist(),
        rows.before_is_key_only.tolist(),
        wire.lists(rows.unavailable, count),
        wire.lists(rows.before_unavailable, count),
        [0] * count if rows.xid is None else rows.xid.tolist(),
        strict=True,
    )
    return [Change(*row) for row in columns]


def others_of(decoded: Decoded) -> list[tuple[Any, ...]]:
    """Everything but rows, in the oracle's form."""
    found: list[tuple[Any, ...]] = [_plain(control) for control in decoded.controls]
    begins, commits = decoded.begins, decoded.commits
    found += zip(
        begins.message, repeat(b"B"), begins.final_lsn, begins.commit_ms, begins.xid, strict=False
    )
    found += zip(
        commits.message,
        repeat(b"C"),
        repeat(0),
        commits.commit_lsn,
        commits.end_lsn,
        commits.commit_ms,
        strict=False,
    )
    return sorted(found, key=lambda item: item[0])


def _plain(control: Control) -> tuple[Any, ...]:
    match control:
        case RelationSeen(number, relation, changed):
            return number, b"R", relation, changed
        case TypeSeen(number, oid, schema, name):
            return number, b"Y", oid, schema, name
        case Origin(number, lsn, name):
            return number, b"O", lsn, name
        case LogicalMessage(number, transactional, lsn, prefix, content, xid):
            return number, b"M", transactional, lsn, prefix, content, xid
        case Truncate(number, relations, cascade, restart, xid):
            return number, b"T", relations, cascade, restart, xid
        case StreamStart(number, start_xid, first):
            return number, b"S", start_xid, int(first)
        case StreamStop(number):
            return number, b"E"
        case StreamCommit(number, commit_xid, lsn, end, at_ms):
            return number, b"c", commit_xid, 0, lsn, end, at_ms
        case StreamAbort(number, abort_xid, subxid):
            return number, b"A", abort_xid, subxid


def in_ms(item: tuple[Any, ...]) -> tuple[Any, ...]:
    """The oracle's tuple with its time, which stands in another place each, in milliseconds."""
    place = {b"B": 3, b"C": 5, b"c": 6}.get(item[1])
    if place is None:
        return item
    converted = item[place] // 1000 + 946_684_800_000
    # Flags of a commit say nothing and are not carried.
    zeroed = tuple(
        0 if item[1] + bytes([at]) in (b"C\2", b"c\3") else v for at, v in enumerate(item)
    )
    return (*zeroed[:place], converted, *zeroed[place + 1 :])


@given(streams())
def test_decoder_agrees_with_a_plain_one_on_any_stream(messages: list[bytes]) -> None:
    decoded = wire.decode(Decoder(wire.shape), messages)
    changes, others = Reference().decode(messages)
    assert changes_of(decoded) == changes
    assert others_of(decoded) == [in_ms(item) for item in others]


@given(streams(), st.lists(st.integers(0, 25), max_size=4))
def test_decoder_says_the_same_wherever_the_stream_is_cut(
    messages: list[bytes], cuts: list[int]
) -> None:
    whole = changes_of(wire.decode(Decoder(wire.shape), messages))
    decoder, pieces = Decoder(wire.shape), []
    borders_at = sorted({0, *(min(cut, len(messages)) for cut in cuts), len(messages)})
    for start, end in pairwise(borders_at):
        for change in changes_of(wire.decode(decoder, messages[start:end])):
            change.message += start
            pieces.append(change)
    assert pieces == whole


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    """A stream with some bytes changed, taken out or put in."""
    messages = draw(streams().filter(bool))
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(messages) - 1))
        payload = messages[number]
        place = draw(st.integers(0, len(payload)))
        # Counts and lengths are small numbers, tags a few letters: damage that still looks right.
        byte = bytes(
            [draw(st.sampled_from(b"\0\1\2\3\xff\x7fIUDNKOntubBCRSE") | st.integers(0, 255))]
        )
        cut = place + draw(st.integers(0, 1))
        changed = payload[:place] + draw(st.sampled_from([byte, b""])) + payload[cut:]
        messages[number] = changed or b"?"
    return messages


REFUSALS = {
    MalformedError: "postgres-protocol",
    TwoPhaseError: "postgres-two-phase",
    NotTextError: "event-invalid",
}


def check_damaged(messages: list[bytes]) -> None:
    """Both refuse, or both say the same. Which of several defects is named does not matter."""
    try:
        changes, others = Reference().decode(messages)
    except tuple(REFUSALS):
        with pytest.raises((CorruptionError, DataError)) as caught:
            wire.decode(Decoder(wire.shape), messages)
        assert caught.value.code in REFUSALS.values()
    else:
        decoded = wire.decode(Decoder(wire.shape), messages)
        assert changes_of(decoded) == changes
        assert others_of(decoded) == [in_ms(item) for item in others]


@given(damaged())
def test_decoder_refuses_or_agrees_when_a_stream_is_damaged(messages: list[bytes]) -> None:
    check_damaged(messages)


@given(st.lists(st.binary(min_size=1), max_size=5))
def test_decoder_raises_only_its_own_errors_when_given_any_bytes(messages: list[bytes]) -> None:
    check_damaged(messages)
