"""Differences between a table and its source, and what each policy does about them."""

from __future__ import annotations

import pytest

from headwater.errors import ConfigError
from headwater.spark.change.kinds import logical_of, stored_type, widens
from headwater.spark.change.lineage import Held, lineage
from headwater.spark.policy import Policy, SchemaPolicy
from headwater.spark.table.drift import (
    Added,
    Dropped,
    Incompatible,
    Narrowed,
    Nullability,
    Renamed,
    Widened,
    differences,
)
from headwater.spark.table.renames import in_order
from headwater.spark.table.shape import TableShape, memory, remembered
from tests.unit.spark.shapes import plan, read_as, shape, table, tails


@pytest.mark.parametrize(
    ("held", "source", "expected"),
    [
        ("id:int32#1 b:int32#2", "id:int32#1 b:int32#2", []),
        ("id:int32", "id:int32 c:string", [Added("c", "string")]),
        ("id:int32#1 b:int32#2", "id:int32#1", [Dropped("b")]),
        ("id:int32#1 b:int32#2", "id:int32#1 c:int32#2", [Renamed("b", "c")]),
        # By name alone a rename is a drop and an add, for it might be just that.
        ("id:int32 b:int32", "id:int32 c:int32", [Dropped("b"), Added("c", "int")]),
        ("id:int32 b:int32", "id:int32 b:int64", [Widened("b", "int", "bigint")]),
        ("id:int32 b:int64", "id:int32 b:int32", [Narrowed("b", "bigint", "int")]),
        (
            "id:int32 b:array<decimal(10,2)>",
            "id:int32 b:array<decimal(8,2)>",
            [Narrowed("b", "array<decimal(10,2)>", "array<decimal(8,2)>")],
        ),
        # PostgreSQL cuts or rounds every value then, and tells of none.
        (
            "id:int32 b:timestamp c:float64 d:decimal(10,2) e:decimal(12,2)",
            "id:int32 b:date c:float32 d:decimal(8,0) e:int32",
            [
                Incompatible("b", "timestamp_ntz", "date"),
                Incompatible("c", "double", "float"),
                Incompatible("d", "decimal(10,2)", "decimal(8,0)"),
                Incompatible("e", "decimal(12,2)", "int"),
            ],
        ),
        ("id:int32 b:int32", "id:int32 b:string", [Incompatible("b", "int", "string")]),
        (
            "id:int32#1 b:int32#2",
            "id:int32#1 c:int64#2",
            [Renamed("b", "c"), Widened("c", "int", "bigint")],
        ),
        # Dropped and made again: another column, unless it looks the same.
        ("id:int32#1 b:int32#2", "id:int32#1 b:string#3", [Dropped("b"), Added("b", "string")]),
        ("id:int32#1 b:int32#2", "id:int32#1 b:int32#3", []),
        # A number that is not known does not make another column of it.
        ("id:int32#1 b:int32#2", "id:int32#1 b:int32", []),
        ("id:int32 b:int32#2", "id:int32 B:int32#2", []),
        # Two columns change their names; the numbers say which is which.
        (
            "id:int32 a:string#2 b:string#3",
            "id:int32 b:string#2 a:string#3",
            [Renamed("a", "b"), Renamed("b", "a")],
        ),
    ],
)
def test_differences_tell_what_happened_to_each_column(
    held: str, source: str, expected: list[object]
) -> None:
    assert list(differences(lineage([shape(source)], table(held).columns))) == expected


def test_nullability_is_told_when_two_shapes_differ_in_it_alone() -> None:
    shapes = [shape("id:int32 b:int32!"), shape("id:int32 b:int32")]
    assert differences(lineage(shapes, table("id:int32 b:int32").columns)) == (
        Nullability("b", nullable=True),
    )


def test_column_that_nobody_knows_is_left_alone_when_the_source_has_it_not() -> None:
    own = Held("note", "string", "note", ours=False)
    held = TableShape((*table("id:int32").columns, own), frozenset({"id"}))
    for policy in ("evolve", "halt"):
        found = plan(policy, held, "id:int32")
        assert (tails(found), [each.name for each in found.kept]) == ([], ["id"])


@pytest.mark.parametrize(
    ("policy", "source", "expected", "names"),
    [
        ("evolve", "id:int64#1 c:int32#2 d:date#4", 3, ["id", "c", "d", "x"]),
        ("lenient", "id:int64#1 c:int32#2 d:date#4", 2, ["id", "b", "d", "x"]),
        ("freeze", "id:int32#1 c:int32#2 d:date#4", 0, ["id", "b", "x"]),
        # What does not fit goes where it fits, under lenient alone.
        ("lenient", "id:int32#1 b:string#2 x:string#3", 0, ["id", "b", "x"]),
    ],
)
def test_policy_decides_names_and_statements(
    policy: Policy, source: str, expected: int, names: list[str]
) -> None:
    found = plan(policy, table("id:int32#1 b:int32#2 x:string#3"), source)
    assert sorted(each.name for each in found.kept) == sorted(names)
    steps = [
        "RENAME COLUMN b TO c",
        "ALTER COLUMN id TYPE bigint",
        "ADD COLUMNS (d date)",
    ]
    assert tails(found) == steps[len(steps) - expected :]


def test_values_of_every_shape_find_their_column_wherever_the_batch_is_cut() -> None:
    first, second, third = (
        "id:int32#1 b:int32#2 x:string#3",
        "id:int32#1 c:int64#2 x:string#3",
        "id:int32#1 c:int64#2 x:date#4",
    )
    whole = plan("evolve", table(first), first, second, third, history=True)
    assert tails(whole) == [
        "RENAME COLUMN b TO c",
        "RENAME COLUMN x TO x_dropped_3",
        "ALTER COLUMN c TYPE bigint",
        "ADD COLUMNS (x date)",
    ]
    assert read_as(whole, first) == {"id": "id", "c": "b", "x_dropped_3": "x"}
    assert read_as(whole, third) == {"id": "id", "c": "c", "x": "x"}
    assert [each.name for each in whole.added] == ["x"]
    kinds = {each.name: str(each.type) for each in whole.columns()}
    assert kinds == {"id": "int32", "c": "int64", "x_dropped_3": "string", "x": "date"}


def test_mirror_drops_and_history_keeps_when_the_policy_says_drop() -> None:
    held = table("id:int32#1 b:int32#2")
    assert tails(plan("evolve", held, "id:int32#1", drops=True)) == ["DROP COLUMN b"]
    kept = plan("evolve", held, "id:int32#1", drops=True, history=True)
    assert (tails(kept), [each.name for each in kept.columns()]) == ([], ["id", "b"])
    assert [each.name for each in plan("evolve", held, "id:int32#1").columns()] == ["id"]


def test_new_table_begins_as_the_source_is_whatever_the_policy() -> None:
    for policy in ("evolve", "lenient", "freeze", "halt"):
        found = plan(policy, None, "id:int32#1 b:int32#2", "id:int32#1 c:int32#2 d:date#3")
        assert [each.name for each in found.columns()] == ["id", "c", "d"]
        assert (tails(found), [each.name for each in found.added]) == ([], ["d"])


def test_names_change_hands_through_a_free_one_when_they_form_a_ring() -> None:
    assert in_order({"a": "b", "b": "c"}, ["a", "b"]) == [("b", "c"), ("a", "b")]
    ring = in_order({"a": "b", "b": "a"}, ["a", "b"])
    names = {"a": 1, "b": 2}
    for old, new in ring:
        assert new not in names
        names[new] = names.pop(old)
    assert names == {"a": 2, "b": 1}


def test_memory_names_columns_by_their_place() -> None:
    columns = [Held("now", "int", "then"), Held("own", "int", "own")]
    found = remembered(columns, memory([("then", 7)], ["then"]))
    assert [(each.number, each.ours) for each in found.columns] == [(7, True), (None, False)]
    assert found.key == frozenset({"then"})
    assert remembered(columns, None).key is None


def test_types_are_told_apart_by_what_they_can_hold() -> None:
    assert widens("array<int>", "array<bigint>")
    assert widens("decimal(10,2)", "decimal(12,4)")
    assert not widens("decimal(10,2)", "decimal(12,1)")
    assert not widens("bigint", "double")
    for kind in ("smallint", "decimal(12,3)", "array<timestamp_ntz>", "string", "binary"):
        found = logical_of(kind)
        assert found is not None
        assert stored_type(found) == kind
    assert logical_of("tinyint") is None


def test_misspelt_policy_is_refused() -> None:
    for wrong in ({"policy": "evolv"}, {"on_add": "yes"}, {"on_drop": "drop", "policy": "halt"}):
        with pytest.raises(ConfigError) as caught:
            SchemaPolicy(**wrong)  # type: ignore[arg-type]
        assert caught.value.code == "spark-schema"
