from __future__ import annotations

import struct

import numpy as np
import pytest

from headwater.errors import CorruptionError, DataError
from headwater.event import Operation
from headwater.source.postgres.decode.pgoutput import (
    Decoder,
    LogicalMessage,
    Origin,
    Relation,
    RelationSeen,
    Shape,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    TypeSeen,
)
from tests.unit.source.postgres import wire
from tests.unit.source.postgres.wire import UNCHANGED, table

USERS = table(10, "id* name bio")
FULL = table(11, "id* name bio", identity="f")


def started(*relations: Relation) -> Decoder:
    decoder = Decoder(wire.shape)
    wire.decode(decoder, [wire.relation(relation) for relation in relations])
    return decoder


def test_decoder_gives_images_when_rows_are_inserted_updated_and_deleted() -> None:
    rows = wire.decode(
        started(USERS),
        [
            wire.insert(10, ["1", 'a"b', None]),
            wire.update(10, ["1", "c", "x"]),
            wire.update(10, ["2", "c", "x"], key=["1", None, None]),
            wire.delete(10, key=["2", None, None]),
        ],
    ).rows
    assert rows.op.tolist() == [
        Operation.INSERT,
        Operation.UPDATE,
        Operation.UPDATE,
        Operation.DELETE,
    ]
    assert rows.before.to_pylist() == [None, None, '{"id":1}', '{"id":2}']
    assert rows.after.to_pylist() == [
        '{"id":1,"name":"a\\"b","bio":null}',
        '{"id":1,"name":"c","bio":"x"}',
        '{"id":2,"name":"c","bio":"x"}',
        None,
    ]
    assert rows.before_is_key_only.tolist() == [False, False, True, True]
    assert (rows.unavailable, rows.before_unavailable, rows.xid) == (None, None, None)


def test_decoder_lists_unchanged_values_as_unavailable_when_there_is_no_old_tuple() -> None:
    rows = wire.decode(
        started(USERS),
        [wire.insert(10, ["1", "a", "b"]), wire.update(10, ["1", "c", UNCHANGED])],
    ).rows
    assert rows.after.to_pylist() == ['{"id":1,"name":"a","bio":"b"}', '{"id":1,"name":"c"}']
    assert wire.lists(rows.unavailable, 2) == [None, ["bio"]]


def test_decoder_fills_unchanged_values_when_the_old_tuple_has_them() -> None:
    rows = wire.decode(
        started(FULL), [wire.update(11, ["1", "new", UNCHANGED], old=["1", "old", "long"])]
    ).rows
    assert rows.before.to_pylist() == ['{"id":1,"name":"old","bio":"long"}']
    assert rows.after.to_pylist() == ['{"id":1,"name":"new","bio":"long"}']
    assert rows.before_is_key_only.tolist() == [False]
    assert rows.unavailable is None


def test_decoder_fills_a_key_column_when_only_the_old_key_has_it() -> None:
    decoder = started(table(12, "id* part* bio"))
    rows = wire.decode(
        decoder, [wire.update(12, ["2", UNCHANGED, UNCHANGED], key=["1", "7", None])]
    ).rows
    assert rows.before.to_pylist() == ['{"id":1,"part":7}']
    assert rows.after.to_pylist() == ['{"id":2,"part":7}']
    assert wire.lists(rows.unavailable, 1) == [["bio"]]


def test_decoder_leaves_out_columns_when_they_are_not_captured() -> None:
    decoder = started(table(13, "id* -secret note"), table(14, "-only"))
    rows = wire.decode(
        decoder,
        [
            wire.insert(13, ["1", "s3cret", "x"]),
            wire.update(13, ["1", UNCHANGED, "y"]),
            wire.insert(14, ["s3cret"]),
        ],
    ).rows
    assert rows.after.to_pylist() == ['{"id":1,"note":"x"}', '{"id":1,"note":"y"}', "{}"]
    assert rows.unavailable is None


def test_decoder_keeps_message_order_when_relations_interleave() -> None:
    decoder = started(USERS, FULL)
    messages = [wire.insert((10, 11)[number % 2], [str(number), "n", "b"]) for number in range(7)]
    decoded = wire.decode(decoder, [wire.begin(5), *messages, wire.commit()])
    assert [row[6] for row in decoded.rows.after.to_pylist()] == list("0123456")
    assert decoded.rows.message.tolist() == list(range(1, 8))
    names = [decoded.relations[number].name for number in decoded.rows.relation]
    assert names == ["t10", "t11"] * 3 + ["t10"]


def test_decoder_reads_each_row_by_its_own_description_when_a_relation_changes_in_mid_buffer() -> (
    None
):
    wider = table(10, "id* name bio extra")
    decoded = wire.decode(
        started(USERS),
        [
            wire.insert(10, ["1", "a", "b"]),
            wire.relation(USERS),
            wire.insert(10, ["2", "a", "b"]),
            wire.relation(wider),
            wire.insert(10, ["3", "a", "b", "c"]),
        ],
    )
    assert decoded.rows.after.to_pylist() == [
        '{"id":1,"name":"a","bio":"b"}',
        '{"id":2,"name":"a","bio":"b"}',
        '{"id":3,"name":"a","bio":"b","extra":"c"}',
    ]
    assert [decoded.relations[number] for number in decoded.rows.relation] == [USERS, USERS, wider]
    assert decoded.controls == (RelationSeen(1, USERS, False), RelationSeen(3, wider, True))


def test_decoder_asks_for_a_shape_only_when_a_description_is_new() -> None:
    asked = []

    def shape(relation: Relation) -> Shape:
        asked.append(relation)
        return wire.shape(relation)

    decoder = Decoder(shape)
    wider = table(10, "id* name bio extra")
    wire.decode(decoder, [wire.relation(USERS), wire.relation(USERS)])
    wire.decode(decoder, [wire.relation(USERS), wire.relation(wider)])
    assert asked == [USERS, wider]


def test_decoder_gives_transactions_in_columns() -> None:
    second_us = 1_000_000
    decoded = wire.decode(
        started(),
        [
            wire.begin(4_000_000_000, lsn=70, at_us=second_us),
            wire.commit(70, 80, at_us=second_us),
            wire.begin(6, lsn=90, at_us=-1),
        ],
    )
    assert decoded.tags.tobytes() == b"BCB"
    assert decoded.begins.message.tolist() == [0, 2]
    assert decoded.begins.xid.tolist() == [4_000_000_000, 6]
    assert decoded.begins.final_lsn.tolist() == [70, 90]
    assert decoded.begins.commit_ms.tolist() == [946_684_801_000, 946_684_799_999]
    assert decoded.commits.message.tolist() == [1]
    assert (decoded.commits.commit_lsn.tolist(), decoded.commits.end_lsn.tolist()) == ([70], [80])
    assert decoded.commits.commit_ms.tolist() == [946_684_801_000]


def test_decoder_gives_the_rare_messages_as_values() -> None:
    decoded = wire.decode(
        started(USERS, FULL),
        [
            wire.named_type(99, "mood"),
            wire.origin("other"),
            wire.message("app", b"\x00\xff", flags=0),
            wire.truncate([10, 11], flags=3),
            wire.truncate([10]),
        ],
    )
    assert decoded.controls == (
        TypeSeen(0, 99, "public", "mood"),
        Origin(1, 5, "other"),
        LogicalMessage(2, False, 7, "app", b"\x00\xff", None),
        Truncate(3, (USERS, FULL), True, True, None),
        Truncate(4, (USERS,), False, False, None),
    )


def test_decoder_reads_transaction_numbers_when_inside_a_streamed_block() -> None:
    decoder = Decoder(wire.shape)
    first = wire.decode(
        decoder,
        [
            wire.stream_start(500),
            wire.relation(USERS, xid=500),
            wire.named_type(99, "mood", xid=500),
            wire.insert(10, ["1", "a", "b"], xid=501),
            wire.message("app", b"x", xid=500),
        ],
    )
    second = wire.decode(
        decoder,
        [
            wire.truncate([10], xid=502),
            wire.delete(10, key=["1", None, None], xid=500),
            wire.stream_stop(),
            wire.begin(7),
            wire.insert(10, ["2", "a", "b"]),
            wire.stream_abort(500, 501),
            wire.stream_abort(500, 502, parallel=True),
            wire.stream_commit(500, 8, 9),
        ],
    )
    assert first.controls == (
        StreamStart(0, 500, True),
        RelationSeen(1, USERS, True),
        TypeSeen(2, 99, "public", "mood"),
        LogicalMessage(4, True, 7, "app", b"x", 500),
    )
    assert first.rows.xid is not None
    assert first.rows.xid.tolist() == [501]
    assert second.rows.xid is not None
    assert second.rows.xid.tolist() == [500, 0]
    assert second.rows.before.to_pylist() == ['{"id":1}', None]
    assert second.controls == (
        Truncate(0, (USERS,), False, False, 502),
        StreamStop(2),
        StreamAbort(5, 500, 501),
        StreamAbort(6, 500, 502),
        StreamCommit(7, 500, 8, 9, 946_684_800_000),
    )


def test_decoder_gives_empty_columns_when_there_are_no_messages() -> None:
    decoded = wire.decode(started(USERS), [])
    assert len(decoded.rows.message) == len(decoded.rows.after) == len(decoded.rows.before) == 0
    assert decoded.controls == ()


WHOLE = wire.insert(10, ["1", "a", "b"])


@pytest.mark.parametrize(
    "payload",
    [
        b"?",
        b"I",
        b"B",
        wire.begin(1) + b"x",
        wire.commit()[:-1],
        WHOLE[:-1],
        WHOLE + b"x",
        wire.insert(10, ["1", "a"]),
        wire.insert(10, ["1", "a", "b", "c"]),
        wire.insert(77, ["1", "a", "b"]),
        WHOLE.replace(b"N", b"O", 1),
        WHOLE.replace(b"t", b"b", 1),
        WHOLE.replace(struct.pack("!i", 1), struct.pack("!i", -1), 1),
        WHOLE.replace(struct.pack("!i", 1), struct.pack("!i", 2**31 - 1), 1),
        wire.delete(10, key=[UNCHANGED, None, None]),
        wire.delete(10, old=["1", "a", "b"])[:-8],
        wire.update(10, ["1", "a", "b"], old=["1", "a", "b"]).replace(b"N", b"X"),
        wire.update(10, [], key=["1", None, None])[:-3],
        wire.truncate([77]),
        wire.truncate([10])[:-1],
        b"T" + struct.pack("!iB", -1, 0),
        b"M" + struct.pack("!Bq", 1, 7) + b"app",
        b"M" + struct.pack("!Bq", 1, 7) + b"app\0" + struct.pack("!i", -1),
        b"O" + struct.pack("!q", 5) + b"\xff\0",
        wire.stream_abort(1, 2) + b"x",
        wire.relation(table(15, "id*"))[:-1],
        wire.relation(table(15, "id*", identity="x")),
        wire.stream_stop(),
    ],
)
def test_decoder_refuses_a_message_and_keeps_its_state_when_it_is_malformed(payload: bytes) -> None:
    decoder = started(USERS)
    with pytest.raises(CorruptionError) as caught:
        wire.decode(decoder, [WHOLE, payload, wire.relation(table(10, "id*"))])
    assert caught.value.code == "postgres-protocol"
    assert len(wire.decode(decoder, [WHOLE]).rows.after) == 1


def test_decoder_is_outside_of_blocks_again_when_the_buffer_with_the_start_was_refused() -> None:
    decoder = started(USERS)
    with pytest.raises(CorruptionError):
        wire.decode(decoder, [wire.stream_start(5), b"?"])
    assert len(wire.decode(decoder, [WHOLE]).rows.after) == 1


def test_decoder_names_the_message_when_one_of_many_is_malformed() -> None:
    with pytest.raises(CorruptionError) as caught:
        wire.decode(started(USERS), [wire.begin(1), WHOLE, WHOLE[:-1], WHOLE])
    assert caught.value.where == "message 2 of the buffer"


@pytest.mark.parametrize("outside", [wire.begin(1), wire.commit(), wire.stream_start(2)])
def test_decoder_refuses_a_message_when_it_lies_inside_a_streamed_block(outside: bytes) -> None:
    with pytest.raises(CorruptionError):
        wire.decode(started(), [wire.stream_start(1), outside])


@pytest.mark.parametrize("tag", [b"b", b"P", b"K", b"r", b"p"])
def test_decoder_refuses_prepared_transactions_with_a_code_of_their_own(tag: bytes) -> None:
    with pytest.raises(DataError) as caught:
        wire.decode(started(), [tag + bytes(30)])
    assert caught.value.code == "postgres-two-phase"


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        ([0], [0]),
        ([0], [99]),
        ([-1], [5]),
        ([5], [2]),
        ([0, 0], [26, 26]),
        ([26, 0], [52, 26]),
        ([0], [26, 52]),
    ],
)
def test_decoder_refuses_places_when_they_are_not_in_the_buffer(
    starts: list[int], ends: list[int]
) -> None:
    with pytest.raises(CorruptionError):
        started().decode(
            wire.commit() + wire.commit(),
            np.array(starts, dtype=np.int64),
            np.array(ends, dtype=np.int64),
        )
