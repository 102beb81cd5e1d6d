"""CDC Format 1.0 leaves 35 questions open. One test for each answer, by its number."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headwater import capture
from headwater.app.config import CdcSettings
from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.entities import Entity, EntityMap, type_name
from headwater.format.cdcformat.json import CdcFormat
from headwater.format.cdcformat.schema import json_schema
from headwater.format.cdcformat.selection import KeepEntities, KeepOperations
from tests.unit.format.cdc_examples import EVENTS, EXAMPLES, stripped
from tests.unit.format.cdc_tables import (
    HISTORY,
    ORGANIZATION,
    POST,
    USER,
    added,
    batch,
    changed,
    removed,
)

INSERT, UPDATE, DELETE, READ = (
    Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ,
)  # fmt: skip
OLD = {"id": 1, "email": "a@x", "n": 1, "deleted_at": None}
NEW = {"id": 1, "email": "b@x", "n": 1, "deleted_at": None}


def event(op: Operation = UPDATE, **more: Any) -> Event:
    fields: dict[str, Any] = {
        "source": Origin("postgres", "16/B374D848:12", 1_768_145_700_123),
        "ts_ms": 1_768_145_700_456,
        "table": "tb_user",
        "schema": "public",
        "primary_key": ("id",),
        "before": OLD if op in (UPDATE, DELETE) else None,
        "after": NEW if op in (INSERT, UPDATE, READ) else None,
        "transaction": Transaction(771, 3, 1),
        "sequence_number": 4521,
        "event_id": UUID("550e8400-e29b-51d4-a716-446655440000"),
        "schema_id": 99,
    }
    return Event(op=op, **{**fields, **more})


def written(op: Operation = UPDATE, form: CdcFormat | None = None, **more: Any) -> dict[str, Any]:
    (record,) = (form or CdcFormat()).encode(EventBatch.from_events([event(op, **more)]))
    tree: dict[str, Any] = json.loads(record)
    return tree


def ours(tree: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = tree["metadata"]["custom_fields"]["headwater"]
    return block


def read(tree: dict[str, Any]) -> Event:
    (found,) = CdcFormat().decode([json.dumps(tree).encode()])
    return found


def cascaded(*events: Event, **options: Any) -> list[dict[str, Any]]:
    told = Cascade(history=HISTORY, **options)(batch(list(events)))
    form = CdcFormat(granularity=options.get("granularity", "row"))
    return [json.loads(record) for record in form.encode(told)]


def test_resolution_1_event_id_is_written_with_evt_and_read_with_or_without() -> None:
    assert written()["event_id"] == "evt_550e8400-e29b-51d4-a716-446655440000"
    for text in ("evt_" + "a" * 36, "a" * 36):
        read(written() | {"event_id": text})


def test_resolution_2_event_id_is_derived_from_the_position_when_there_is_none() -> None:
    first, again = written(event_id=UUID(int=0)), written(event_id=UUID(int=0))
    other = written(event_id=UUID(int=0), source=Origin("postgres", "16/B374D848:13", 5))
    assert first["event_id"] == again["event_id"] != other["event_id"]
    assert UUID(first["event_id"].removeprefix("evt_")).version == 5


def test_resolution_3_sequence_number_is_the_logs() -> None:
    assert written()["sequence_number"] == 4521


def test_resolution_4_sequence_number_is_an_integer_and_text_on_request() -> None:
    text = CdcFormat(sequence_as_text=True)
    assert written(sequence_number=2**62)["sequence_number"] == 2**62
    assert written(form=text, sequence_number=2**62)["sequence_number"] == str(2**62)


def test_resolution_5_transaction_id_is_the_sources_number_as_text() -> None:
    assert written()["source"]["transaction_id"] == "771"
    assert "transaction_id" not in written(transaction=None)["source"]


def test_resolution_6_one_row_is_one_event_unless_mutations_are_folded_and_says_so() -> None:
    rows = (removed(USER, {"id": 5}), removed(POST, {"id": 1, "user_id": 5}))
    assert [ours(tree)["granularity"] for tree in cascaded(*rows)] == ["row", "row"]
    (tree,) = cascaded(*rows, granularity="atomic")
    assert (ours(tree)["granularity"], tree["entity"]["entity_type"]) == ("atomic", "User")
    assert [each["entity_id"] for each in tree["cascade"]["deleted"]] == ["1"]


def test_resolution_7_the_root_is_the_change_that_no_other_caused() -> None:
    """The specification's example 8.3: a user goes, with its posts, and is counted no more."""
    rows = cascaded(
        removed(POST, {"id": 1, "user_id": 5}),
        removed(USER, {"id": 5, "name": "a", "org_id": 8}),
        changed(ORGANIZATION, {"id": 8, "member_count": 3}, {"id": 8, "member_count": 2}),
    )
    assert [row["cascade"]["deleted"] for row in rows] == [
        [],
        [{"entity_type": "Post", "entity_id": "1", "reason": "parent_deleted"}],
        [],
    ]
    (counted,) = rows[1]["cascade"]["updated"]
    assert (counted["entity_type"], counted["changes"]) == ("Organization", ["member_count"])


def test_resolution_8_cascade_has_its_three_lists_and_invalidations_come_from_the_map() -> None:
    assert written()["cascade"] == {"updated": [], "deleted": [], "invalidations": []}
    form = CdcFormat(entities=EntityMap({"tb_user": Entity(type="User", invalidates=("users",))}))
    for op, reason in ((INSERT, "created"), (UPDATE, "updated"), (DELETE, "deleted")):
        listed = written(op, form)["cascade"]["invalidations"]
        assert listed == [{"query": "users", "reason": f"entity_{reason}"}]


def test_resolution_9_reasons_are_free_text_and_ours_are_few() -> None:
    tree = written()
    tree["cascade"]["updated"] = [{"entity_type": "A", "entity_id": "1", "reason": "so it was"}]
    again = CdcFormat().encode(CdcFormat().decode([json.dumps(tree).encode()]))
    assert json.loads(again[0]) == tree
    user, post = {"id": 5, "org_id": 8}, {"id": 1, "user_id": 5}
    comes = cascaded(added(USER, user), added(POST, post))
    goes = cascaded(
        removed(USER, user), removed(POST, post), changed(ORGANIZATION, None, {"id": 8})
    )
    loses = cascaded(
        changed(USER, None, user), removed(POST, post), removed(POST, post | {"id": 2})
    )
    said = {
        each["reason"]
        for row in (*comes, *goes, *loses)
        for each in (*row["cascade"]["updated"], *row["cascade"]["deleted"])
    }
    assert said == {"child_added", "parent_deleted", "related_updated", "entity_deleted"}


def test_resolution_10_nothing_is_derived_from_a_reason() -> None:
    reasons = ("parent_entity_deleted", "parent_deleted", "anything")
    found = []
    for reason in reasons:
        tree = EVENTS[2] | {"cascade": {"updated": [], "deleted": [{"reason": reason}]}}
        found.append(read(tree))
    assert {(e.op, e.table, str(e.before)) for e in found} == {
        (DELETE, "User", str(EVENTS[2]["operation"]["before"]))
    }


def test_resolution_11_affected_entities_are_optional() -> None:
    items = json_schema()["$defs"]["cascade"]["properties"]["invalidations"]["items"]
    assert "affected_entities" in items["properties"]
    assert "affected_entities" not in items["required"]


def test_resolution_12_the_specifications_names_are_written_and_others_are_taken_in() -> None:
    (root, _) = cascaded(removed(USER, {"id": 5}), removed(POST, {"id": 1, "user_id": 5}))
    assert list(root["cascade"]["deleted"][0]) == ["entity_type", "entity_id", "reason"]
    entry = json_schema()["$defs"]["cascade"]["properties"]["updated"]["items"]
    assert entry["required"] == ["entity_type", "entity_id"]
    others = {
        "updated": [{"__typename": "Post", "id": "1", "operation": "UPDATED", "entity": {}}],
        "deleted": [{"__typename": "Post", "id": "2", "operation": "DELETED"}],
        "invalidations": [{"queryName": "posts", "strategy": "INVALIDATE", "scope": "PREFIX"}],
    }
    tree = written() | {"cascade": others}
    again = CdcFormat().encode(CdcFormat().decode([json.dumps(tree).encode()]))
    assert json.loads(again[0])["cascade"] == others


def test_resolution_13_a_soft_delete_is_an_update_and_told_as_a_delete_on_request() -> None:
    gone = OLD | {"deleted_at": "2026-01-11T15:45:00.000000Z"}
    tree = written(after=gone)
    assert (tree["event_type"], tree["operation"]["type"]) == ("entity:updated", "UPDATE")
    assert tree["entity"]["is_soft_deleted"] is True
    assert written()["entity"]["is_soft_deleted"] is False
    told = CdcFormat(entities=EntityMap({"tb_user": Entity(type="U", soft_delete_as="deleted")}))
    assert written(form=told, after=gone)["event_type"] == "entity:deleted"
    assert written(form=told, after=gone)["operation"]["type"] == "UPDATE"
    for before, after in ((gone, gone | {"n": 2}), (gone, OLD), (OLD, NEW)):
        again = written(form=told, before=before, after=after)
        assert again["event_type"] == "entity:updated"


def test_resolution_14_soft_delete_is_a_column_and_absent_where_the_column_is() -> None:
    assert "is_soft_deleted" not in written(before={"id": 1}, after={"id": 1})["entity"]
    form = CdcFormat(entities=EntityMap({"tb_user": Entity(type="User", soft_delete="n")}))
    assert written(form=form)["entity"]["is_soft_deleted"] is True


def test_resolution_15_a_hard_delete_changes_every_field_that_was_there() -> None:
    assert written(DELETE)["operation"]["changed_fields"] == list(OLD)


def test_resolution_16_a_row_that_is_not_whole_says_so() -> None:
    assert "before_complete" not in ours(written())
    assert ours(written(before={"id": 1}, before_is_key_only=True))["before_complete"] is False
    partly = written(before={"id": 1}, before_unavailable_columns=("email",))
    assert ours(partly)["before_complete"] is False


def test_resolution_17_create_has_no_before_and_delete_a_null_after() -> None:
    assert "before" not in written(INSERT)["operation"]
    assert written(DELETE)["operation"]["after"] is None
    tree = written(INSERT)
    tree["operation"]["before"] = None
    assert read(tree).before is None


def test_resolution_18_changed_fields_are_in_column_order_and_exact() -> None:
    before = {"z": 1, "a": True, "m": 1.0, "same": [1, {"x": 2}], "gone": 1}
    after = {"z": 2, "a": 1, "m": 1, "same": [1, {"x": 2}], "new": None}
    assert written(before=before, after=after)["operation"]["changed_fields"] == [
        "z", "a", "m", "new", "gone",
    ]  # fmt: skip
    unsent = written(before={"id": 1, "big": "x"}, after={"id": 2}, unavailable_columns=("big",))
    assert unsent["operation"]["changed_fields"] == ["id"]


def test_resolution_19_values_are_given_for_updates_whose_row_before_is_whole() -> None:
    values = written()["operation"]["changed_field_values"]
    assert values == {"email": {"before": "a@x", "after": "b@x"}}
    for tree in (
        written(INSERT),
        written(DELETE),
        written(before=None),
        written(before={"id": 1}, before_is_key_only=True),
    ):
        assert "changed_field_values" not in tree["operation"]


def test_resolution_20_comments_are_stripped_and_pipes_are_alternatives() -> None:
    assert json.loads(stripped('{"a": "//no", // yes\n"b": 1}')) == {"a": "//no", "b": 1}
    assert {e["event_type"] for e in EXAMPLES["2.1"]} == {
        "entity:created", "entity:updated", "entity:deleted",
    }  # fmt: skip


def test_resolution_21_trigger_is_admin_action_unless_the_application_said_another() -> None:
    assert written()["operation"]["trigger"] == "admin_action"
    assert written(context={"trigger": "api_import"})["operation"]["trigger"] == "api_import"
    odd = written(context={"trigger": "API 1"})
    assert odd["operation"]["trigger"] == "admin_action"
    assert odd["metadata"]["custom_fields"]["trigger"] == "API 1"


def test_resolution_22_both_timestamps_are_the_commit_with_six_digits() -> None:
    tree = written()
    assert tree["timestamp"] == tree["operation"]["timestamp"] == "2026-01-11T15:35:00.123000Z"
    for text in ("2026-01-11T15:35:00Z", "2026-01-11T17:35:00.123456789+02:00"):
        found = read(EVENTS[0] | {"timestamp": text})
        assert found.source.timestamp_ms // 1000 == 1_768_145_700


def test_resolution_23_entity_id_is_text_and_the_typed_key_is_kept() -> None:
    tree = written()
    assert (tree["entity"]["entity_id"], ours(tree)["key"]) == ("1", {"id": 1})
    pair = written(primary_key=("email", "id"))
    assert pair["entity"]["entity_id"] == '["b@x",1]'
    upper = written(after={"id": "550E8400-E29B-41D4-A716-446655440000"}, before=None)
    assert upper["entity"]["entity_id"] == "550e8400-e29b-41d4-a716-446655440000"
    assert written(primary_key=None)["entity"]["entity_id"] is None


@pytest.mark.parametrize(
    ("table", "name"),
    [("tb_user", "User"), ("blog_post", "BlogPost"), ("Orders", "Orders"), ("--", "--")],
)
def test_resolution_24_entity_type_is_the_tables_name_unless_mapped(table: str, name: str) -> None:
    assert type_name(table) == name
    tree = written(table=table)
    assert (tree["entity"]["entity_type"], ours(tree)["table"]) == (name, table)
    assert tree["source"]["schema"] == "public"
    mapped = CdcFormat(entities=EntityMap({f"public.{table}": Entity(type="Person")}))
    assert written(form=mapped, table=table)["entity"]["entity_type"] == "Person"


def test_resolution_25_tenant_is_a_configured_column_and_absent_otherwise() -> None:
    assert "tenant_id" not in written()["entity"]
    form = CdcFormat(entities=EntityMap({"tb_user": Entity(type="User", tenant="n")}))
    assert written(form=form)["entity"]["tenant_id"] == "1"
    assert written(DELETE, form)["entity"]["tenant_id"] == "1"
    assert "tenant_id" not in written(form=form, after={"id": 1, "n": None})["entity"]


def test_resolution_26_schema_is_configured_and_its_version_is_the_content_hash() -> None:
    assert (written()["schema_name"], written()["schema_version"]) == ("postgres", "99")
    assert written(form=CdcFormat(schema_name="acme"))["schema_name"] == "acme"


def test_resolution_27_only_the_database_is_required_of_the_source() -> None:
    assert json_schema()["$defs"]["source"]["required"] == ["database"]
    assert written()["source"]["database"] == "postgresql"
    form = CdcFormat(source={"region": "eu", "instance": "a"})
    assert written(form=form)["source"]["region"] == "eu"
    assert written(source=Origin("oracle", "1", 1))["source"]["database"] == "oracle"


def test_resolution_28_entity_version_is_a_configured_column() -> None:
    assert "version" not in written()["entity"]
    form = CdcFormat(entities=EntityMap({"tb_user": Entity(type="User", version="n")}))
    assert written(form=form)["entity"]["version"] == 1


def test_resolution_29_metadata_may_be_empty() -> None:
    tree = EVENTS[0] | {"metadata": {}}
    again = CdcFormat().encode(CdcFormat().decode([json.dumps(tree).encode()]))
    assert json.loads(again[0]) == tree


def test_resolution_30_only_committed_changes_are_events(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="NOOP"):
        read(EVENTS[0] | {"operation": {"type": "NOOP"}})
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as shop:
        shop.execute("CREATE TABLE tb_user (id INTEGER PRIMARY KEY)")
        assert captured(database) == []
        shop.executescript("BEGIN; INSERT INTO tb_user VALUES (1); ROLLBACK")
        shop.execute("UPDATE tb_user SET id = 9 WHERE id = 8")
        with suppress(sqlite3.IntegrityError):
            shop.execute("INSERT INTO tb_user VALUES (2), (3), (2)")
        shop.execute("INSERT INTO tb_user VALUES (4)")
    assert [tree["entity"]["entity_id"] for tree in captured(database)] == ["4"]


def captured(database: Path) -> list[dict[str, Any]]:
    trees = []
    with capture(f"sqlite:///{database}", until="head") as changes:
        for each in changes:
            trees += [json.loads(record) for record in CdcFormat().encode(each.events)]
            each.ack()
    return trees


@pytest.mark.parametrize("op", [Operation.TRUNCATE, Operation.SCHEMA_CHANGE])
def test_resolution_31_what_has_no_form_is_refused_and_a_snapshots_row_says_read(
    op: Operation,
) -> None:
    with pytest.raises(DataError, match=f"no form for {op.label}") as caught:
        written(op, before=None, after=NEW if op is Operation.SCHEMA_CHANGE else None)
    assert caught.value.code == "format-unwritable"
    tree = written(READ)
    assert (tree["operation"]["type"], ours(tree)["op"]) == ("CREATE", "read")
    assert read(tree).op is READ


def test_resolution_32_a_replay_says_the_same_and_one_number_tells_it_apart() -> None:
    assert written()["event_id"] == written(sequence_number=9999)["event_id"]
    rows = [event(INSERT, sequence_number=n, event_id=UUID(int=n)) for n in range(1, 7)]
    # At least once: delivered up to 4, and after a crash again from 3 on.
    records = CdcFormat().encode(EventBatch.from_events([*rows[:4], *rows[2:]]))
    assert list(records[2:4]) == list(records[4:6])
    watermark, seen = 0, []
    for tree in map(json.loads, records):
        if tree["sequence_number"] > watermark:
            watermark = tree["sequence_number"]
            seen.append(tree["event_id"])
    assert seen == [f"evt_{UUID(int=n)}" for n in range(1, 7)]


def test_resolution_33_times_are_the_databases_and_not_the_clients() -> None:
    """Durability before the client's answer is for writers; capture tells when it was committed."""
    assert written(ts_ms=1)["timestamp"] == written(ts_ms=2**40)["timestamp"]


def test_resolution_34_inclusion_is_first_exclusion_wins_and_names_are_exact() -> None:
    form = CdcFormat(entities=EntityMap({"TB_USER": Entity(type="Other")}))
    assert written(form=form)["entity"]["entity_type"] == "User"
    rows = EventBatch.from_events(
        [event(op, table=name) for name in ("tb_user", "post") for op in (READ, UPDATE, DELETE)]
    )

    def kept(*transforms: Any) -> list[tuple[str, Operation]]:
        stream = rows
        for transform in transforms:
            stream = transform(stream)
        return [(each.table, each.op) for each in stream]

    assert kept(KeepEntities(), KeepOperations()) == kept()
    assert {name for name, _ in kept(KeepEntities(keep=("User",)))} == {"tb_user"}
    assert kept(KeepEntities(keep=("user",))) == []
    assert kept(KeepEntities(keep=("User", "Post"), drop=("User", "Post"))) == []
    assert {op for _, op in kept(KeepOperations(keep=("CREATE", "UPDATE")))} == {READ, UPDATE}
    both = KeepOperations(keep=("UPDATE", "DELETE"), drop=("DELETE",))
    assert {op for _, op in kept(both)} == {UPDATE}
    for field in ("operations", "exclude_operations"):
        with pytest.raises(ValueError, match="CREATE"):
            CdcSettings.model_validate({field: ["create"]})


def test_resolution_35_operations_have_words_of_their_own() -> None:
    words = {op: written(op)["operation"]["type"] for op in (INSERT, UPDATE, DELETE, READ)}
    assert words == {INSERT: "CREATE", UPDATE: "UPDATE", DELETE: "DELETE", READ: "CREATE"}
    assert [read(tree).op for tree in EVENTS] == [INSERT, UPDATE, DELETE]


def test_every_resolution_has_its_test() -> None:
    numbers = re.findall(r"def test_resolution_(\d+)_", Path(__file__).read_text())
    assert sorted(map(int, numbers)) == list(range(1, 36))


def test_context_goes_to_its_sections() -> None:
    context = {
        "request_id": "req_1", "user_id": "u", "roles": ["admin"], "session_id": "s", "user": "api",
        "custom_fields": {"step": 1}, "import_batch": "b",
    }  # fmt: skip
    tree = written(context=context)
    assert tree["source"]["session_id"] == "s"
    assert tree["source"]["user"] == "api"
    assert {n: v for n, v in tree["metadata"].items() if n != "custom_fields"} == {
        "request_id": "req_1", "user_id": "u", "user_roles": ["admin"],
    }  # fmt: skip
    custom = {n: v for n, v in tree["metadata"]["custom_fields"].items() if n != "headwater"}
    assert custom == {"step": 1, "import_batch": "b"}


def test_context_stays_a_custom_field_when_the_format_has_no_place_for_its_kind() -> None:
    context = {"user_id": 7, "request_id": ["r"], "user_roles": [1], "session_id": True}
    context["trigger"] = 5
    tree = written(context=context)
    custom = tree["metadata"]["custom_fields"]
    assert tree["metadata"]["user_id"] == "7"
    assert {name: custom[name] for name in context if name != "user_id"} == {
        "request_id": ["r"], "user_roles": [1], "session_id": True, "trigger": 5,
    }  # fmt: skip
    assert tree["operation"]["trigger"] == "admin_action"


@pytest.mark.parametrize("tree", EVENTS, ids=["8.1", "8.2", "8.3"])
def test_examples_of_the_specification_read_and_write_back(tree: dict[str, Any]) -> None:
    (record,) = CdcFormat().encode(CdcFormat().decode([json.dumps(tree).encode()]))
    assert json.loads(record) == tree
    found = read(tree)
    assert found.table == "User"
    assert found.source.source_name == "postgres"
