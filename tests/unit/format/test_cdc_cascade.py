"""Cascades: who is the root, what is told, what is folded, and how it travels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater import formats
from headwater.contract import Transform
from headwater.errors import DataError
from headwater.event import Event, EventBatch, ForeignKey, Operation, TableId, TableSchema
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.json import FAMILY, SITE, CdcFormat, Granularity
from headwater.format.cdcformat.known import KnownSchemas
from headwater.format.cdcformat.selection import KeepEntities, KeepOperations
from headwater.format.stash import dress
from tests.unit.format.cdc_tables import (
    COMMENT,
    HISTORY,
    ORGANIZATION,
    POST,
    USER,
    History,
    added,
    batch,
    changed,
    removed,
    table,
)

Row = dict[str, Any]
ACCOUNT = {"id": 5, "name": "a", "org_id": None}
GONE = [removed(USER, ACCOUNT), removed(POST, {"id": 1, "user_id": 5})]
MORE = [removed(POST, {"id": n, "user_id": 5}) for n in (2, 3)]


def written(stream: EventBatch, granularity: Granularity = "row") -> list[Row]:
    return [json.loads(record) for record in CdcFormat(granularity=granularity).encode(stream)]


def cascades(
    *transactions: list[Event],
    history: History = HISTORY,
    granularity: Granularity = "row",
    limit: int | None = None,
) -> list[tuple[str, list[str], list[str]]]:
    """Each event's entity, and the entities and reasons of its cascade."""
    told = Cascade(history=history, granularity=granularity, limit=limit)(batch(*transactions))
    return [
        (
            _name(tree["entity"]),
            [f"{_name(each)} {each['reason']}" for each in tree["cascade"]["updated"]],
            [f"{_name(each)} {each['reason']}" for each in tree["cascade"]["deleted"]],
        )
        for tree in written(told, granularity)
    ]


def _name(entity: Row) -> str:
    return f"{entity['entity_type']}:{entity['entity_id']}"


def test_root_is_the_row_that_others_refer_to_when_a_tree_comes() -> None:
    tree = [
        added(COMMENT, {"id": 7, "post_id": 1}),
        added(USER, ACCOUNT),
        added(POST, {"id": 1, "user_id": 5}),
    ]
    assert cascades(tree)[1] == ("User:5", ["Comment:7 child_added", "Post:1 child_added"], [])


def test_root_is_the_new_row_when_what_it_refers_to_is_only_counted() -> None:
    """The specification's example of 6.2.1."""
    user = ACCOUNT | {"name": "b"}
    found = cascades([added(POST, {"id": 1, "user_id": 5}), changed(USER, ACCOUNT, user)])
    assert found == [("Post:1", ["User:5 child_added"], []), ("User:5", [], [])]


def test_root_is_what_is_referred_to_when_several_rows_come_under_it() -> None:
    posts = [added(POST, {"id": n, "user_id": 5}) for n in (1, 2)]
    found = cascades([*posts, changed(USER, ACCOUNT, ACCOUNT | {"name": "b"})])
    assert found[2] == ("User:5", ["Post:1 child_added", "Post:2 child_added"], [])


def test_root_is_the_first_row_when_rows_refer_to_each_other() -> None:
    one = table("one", "other_id", refers={"other_id": "other"})
    other = table("other", "one_id", refers={"one_id": "one"})
    rows = [added(one, {"id": 1, "other_id": 2}), added(other, {"id": 2, "one_id": 1})]
    found = cascades(rows, history=History(one, other))
    assert found == [("One:1", ["Other:2 child_added"], []), ("Other:2", [], [])]


def test_rows_are_roots_of_their_own_when_nothing_relates_them() -> None:
    rows = [changed(USER, None, ACCOUNT), changed(USER, None, ACCOUNT | {"id": 6})]
    assert cascades(rows) == [("User:5", [], []), ("User:6", [], [])]


def test_each_family_has_its_root_when_a_transaction_has_several() -> None:
    other = [removed(USER, ACCOUNT | {"id": 6}), removed(POST, {"id": 2, "user_id": 6})]
    found = cascades([*GONE, *other], granularity="atomic")
    assert found == [
        ("User:5", [], ["Post:1 parent_deleted"]),
        ("User:6", [], ["Post:2 parent_deleted"]),
    ]


def test_rows_are_strangers_when_their_transactions_are_not_the_same() -> None:
    assert cascades(GONE[:1], GONE[1:]) == [("User:5", [], []), ("Post:1", [], [])]


def test_row_follows_when_its_reference_was_set_to_null() -> None:
    orphan = changed(POST, {"id": 1, "user_id": 5}, {"id": 1, "user_id": None})
    assert cascades([removed(USER, ACCOUNT), orphan])[0] == (
        "User:5", ["Post:1 related_updated"], [],
    )  # fmt: skip


def test_row_follows_nobody_when_its_reference_is_null_or_was_not_sent() -> None:
    null = removed(POST, {"id": 1, "user_id": None})
    unsent = removed(POST, {"id": 2})
    nobody = removed(USER, ACCOUNT | {"id": None})
    rows = [removed(USER, ACCOUNT), nobody, null, unsent]
    assert all(not listed for _, _, listed in cascades(rows))


def test_row_follows_when_the_key_has_several_columns() -> None:
    parent = TableSchema(TableId(None, "a"), (), ("x", "y"))
    key = ForeignKey(("p", "q"), parent.table, ("x", "y"))
    child = TableSchema(TableId(None, "b"), (), ("id",), (key,))
    rows = [
        removed(parent, {"x": 1, "y": "u"}),
        removed(child, {"id": 1, "p": 1, "q": "u"}),
        removed(child, {"id": 2, "p": 1, "q": "v"}),
    ]
    found = cascades(rows, history=History(parent, child))
    assert found[0] == ('A:[1,"u"]', [], ["B:1 parent_deleted"])


def test_entity_is_listed_once_when_it_changed_twice() -> None:
    moved = {"id": 1, "user_id": 5}
    rows = [
        added(USER, ACCOUNT),
        changed(POST, {"id": 1, "user_id": None}, moved),
        changed(POST, moved, moved | {"title": "t"}),
    ]
    root, *_ = written(Cascade(history=HISTORY)(batch(rows)))
    (entry,) = root["cascade"]["updated"]
    assert entry["changes"] == ["user_id", "title"]


def test_entity_is_listed_as_deleted_when_it_was_changed_before() -> None:
    post = {"id": 1, "user_id": 5}
    rows = [removed(USER, ACCOUNT), changed(POST, post, post | {"n": 1}), removed(POST, post)]
    assert cascades(rows)[0] == ("User:5", [], ["Post:1 parent_deleted"])


def test_event_is_one_per_mutation_when_granularity_is_atomic() -> None:
    told = Cascade(history=HISTORY, granularity="atomic")(batch(GONE, first=40))
    (tree,) = written(told, "atomic")
    assert tree["sequence_number"] == 40
    assert tree["metadata"]["custom_fields"]["headwater"]["granularity"] == "atomic"


def test_row_keeps_its_event_when_it_has_no_id_to_be_listed_by() -> None:
    nameless = TableSchema(TableId("public", "log"), (), (), POST.foreign_keys)
    rows = [removed(USER, ACCOUNT), removed(nameless, {"user_id": 5})]
    found = cascades(rows, history=History(USER, nameless), granularity="atomic")
    assert found == [("User:5", [], []), ("Log:None", [], [])]


def test_batch_is_the_same_when_there_is_nothing_to_tell() -> None:
    lonely = batch([added(ORGANIZATION, {"id": 1, "member_count": 0})], GONE[:1])
    assert Cascade(history=HISTORY)(lonely) is lonely


@pytest.mark.parametrize(
    "transform",
    [
        Cascade(history=HISTORY),
        Cascade(history=HISTORY, granularity="atomic"),
        KeepEntities(drop=("User",)),
        KeepOperations(drop=("CREATE",)),
    ],
)
def test_nothing_stays_nothing_when_everything_was_left_out(transform: Transform) -> None:
    assert len(transform(EventBatch.concat([]))) == 0
    assert list(CdcFormat().encode(transform(EventBatch.concat([])))) == []


@pytest.mark.parametrize("granularity", ["row", "atomic"])
def test_rows_of_a_snapshot_belong_to_no_family(granularity: Granularity) -> None:
    rows = batch([added(USER, ACCOUNT), added(POST, {"id": 1, "user_id": 5})])
    columns = {name: rows.column(name) for name in rows.records.schema.names}
    read = EventBatch.from_columns(columns | {"op": int(Operation.READ)})
    assert Cascade(history=HISTORY, granularity=granularity)(read) is read


def test_history_that_travels_says_so_when_a_schema_is_newer() -> None:
    known = KnownSchemas.of(HISTORY)
    assert known.schema(POST.schema_id) == POST
    assert {table for _, table in known.schemas()} == {table for _, table in HISTORY.schemas()}
    with pytest.raises(DataError, match="newer than this history"):
        known.schema(1)


def test_event_keeps_what_it_said_when_it_was_read_from_a_record() -> None:
    first = Cascade(history=HISTORY)(batch(GONE))
    again = Cascade(history=HISTORY)(first)
    assert again.equals(first)


def test_cascade_is_the_same_when_it_went_through_another_format() -> None:
    told = Cascade(history=HISTORY)(batch(GONE))
    there = formats.decode(formats.encode(told, "debezium"), "debezium")
    assert [tree["cascade"] for tree in written(there)] == [
        tree["cascade"] for tree in written(told)
    ]


@pytest.mark.parametrize("limit", [None, 1])
def test_record_is_the_same_when_it_is_patched_instead_of_composed(limit: int | None) -> None:
    told = Cascade(history=HISTORY, limit=limit)(batch([*GONE, *MORE]))
    form = CdcFormat(granularity="atomic")
    patched = dress(FAMILY, SITE, form._natural(told), told)
    assert list(map(json.loads, form.encode(told))) == list(map(json.loads, patched))


def test_event_says_so_when_its_list_is_cut() -> None:
    told = Cascade(history=HISTORY, limit=2)(batch([*GONE, *MORE]))
    root, *others = written(told)
    assert [each["entity_id"] for each in root["cascade"]["deleted"]] == ["1", "2"]
    assert root["metadata"]["custom_fields"]["headwater"]["cascade_complete"] is False
    assert [tree["entity"]["entity_id"] for tree in others] == ["1", "2", "3"]
    assert all("cascade_complete" not in _block(tree) for tree in others)


def test_list_is_complete_when_it_has_just_as_many_as_the_limit() -> None:
    (root, *_) = written(Cascade(history=HISTORY, limit=3)(batch([*GONE, *MORE])))
    assert len(root["cascade"]["deleted"]) == 3
    assert "cascade_complete" not in _block(root)


def test_row_keeps_its_event_when_the_list_of_its_root_is_full() -> None:
    rows = [*GONE, *MORE, removed(POST, {"id": 1, "user_id": 5})]
    found = cascades(rows, granularity="atomic", limit=2)
    assert found == [
        ("User:5", [], ["Post:2 parent_deleted", "Post:1 parent_deleted"]),
        ("Post:3", [], []),
    ]


def _block(tree: Row) -> Row:
    block: Row = tree["metadata"]["custom_fields"]["headwater"]
    return block
