"""Differences between a table and its source, and what each policy does about them."""

from __future__ import annotations

import pytest

from headwater.errors import ConfigError
from headwater.event import Column, LogicalType, TableId, TableSchema
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
from headwater.spark.table.evolution import Keeping, Plan, as_newest, planned
from headwater.spark.table.refusal import Refusal
from headwater.spark.table.renames import in_order
from headwater.spark.table.shape import TableShape, memory, memory_of, remembered

ITEMS = TableId(None, "items")


def column(text: str) -> Column:
    """`name:type`, with `#number` where the database gave one and `!` for NOT NULL."""
    declared, _, number = text.partition("#")
    name, _, kind = declared.removesuffix("!").partition(":")
    return Column(
        name,
        LogicalType.parse(kind),
        nullable=not declared.endswith("!"),
        number=int(number) if number else None,
    )


def shape(text: str, key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema(ITEMS, tuple(map(column, text.split())), key)


def table(text: str) -> TableShape:
    """A table that we made of a shape; a column is known by the name that it had then."""
    made = shape(text)
    columns = [Held(each.name, stored_type(each.type), each.name) for each in made.columns]
    return remembered(columns, memory_of(made))


def plan(
    policy: Policy,
    held: TableShape | None,
    *shapes: str,
    history: bool = False,
    drops: bool = False,
) -> Plan:
    chosen = SchemaPolicy(policy, on_drop="drop" if drops else "keep")
    keeping = Keeping(history=history, keyed=(shape(shapes[-1]),))
    found = planned(chosen, [shape(each) for each in shapes], held, keeping)
    assert isinstance(found, Plan), found
    return found


def refusal(policy: Policy, held: TableShape | None, *shapes: str) -> Refusal:
    made = [shape(each) for each in shapes]
    found = planned(SchemaPolicy(policy), made, held, Keeping(keyed=tuple(made)))
    assert isinstance(found, Refusal), found
    return found


def tails(found: Plan | Refusal) -> list[str]:
    steps = found.alterations if isinstance(found, Plan) else found.fixes
    return [each.on("t").replace("`", "").removeprefix("ALTER TABLE t ") for each in steps]


def read_as(found: Plan, text: str) -> dict[str, str]:
    """Names of the table's columns, and of those that a shape has for them."""
    return {name: each.name for name, each in found.readings()[shape(text).schema_id].items()}


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


@pytest.mark.parametrize(
    ("policy", "source", "code", "fixes"),
    [
        ("evolve", "id:int32 b:date", "spark-type-changed", ["DROP COLUMN b"]),
        (
            "evolve",
            "id:int32 b:string",
            "spark-type-changed",
            [
                "ADD COLUMNS (b__text string)",
                "UPDATE t SET b__text = CAST(b AS string)",
                "DROP COLUMN b",
                "RENAME COLUMN b__text TO b",
            ],
        ),
        ("evolve", "id:date b:int32", "spark-type-changed", []),
        ("freeze", "id:int32 b:int64", "spark-type-changed", ["ALTER COLUMN b TYPE bigint"]),
        ("halt", "id:int32", "spark-schema-halted", ["DROP COLUMN b"]),
        (
            "halt",
            "id:int64 b:int32 c:array<date>",
            "spark-schema-halted",
            ["ALTER COLUMN id TYPE bigint", "ADD COLUMNS (c array<date>)"],
        ),
    ],
)
def test_halt_shows_the_statements_that_resolve_it(
    policy: Policy, source: str, code: str, fixes: list[str]
) -> None:
    found = refusal(policy, table("id:int32 b:int32"), source)
    assert (found.code, tails(found)) == (code, fixes)
    assert ("backfill" in found.then) == ("date b" in source or source.endswith("b:date"))


@pytest.mark.parametrize(
    ("policy", "held", "shapes", "fixes"),
    [
        ("evolve", "int32", "string int32", "ADD COLUMNS (b__text string)"),
        ("evolve", "timestamp", "timestamp date timestamp", "DROP COLUMN b"),
        ("evolve", "float64", "float32 date boolean", "DROP COLUMN b"),
        ("freeze", "int32", "int64 int32", "ALTER COLUMN b TYPE bigint"),
    ],
)
def test_type_that_comes_and_goes_within_a_batch_stops_a_table(
    policy: Policy, held: str, shapes: str, fixes: str
) -> None:
    made = [f"id:int32#1 b:{kind}#2" for kind in shapes.split()]
    found = refusal(policy, table(f"id:int32#1 b:{held}#2"), *made)
    assert (found.code, tails(found)[0]) == ("spark-type-changed", fixes)


def test_type_that_the_table_reads_stops_nothing_when_it_comes_and_goes_within_a_batch() -> None:
    whole = ["id:int32#1 b:int32#2", "id:int32#1 b:int64#2", "id:int32#1 b:int32#2"]
    for held in (table(whole[0]), table(whole[1]), None):
        kept = plan("evolve", held, *whole)
        assert {each.name: each.kind for each in kept.kept} == {"id": "int", "b": "bigint"}
    # The table was altered before the process died; the batch comes again.
    dates = ["id:int32#1 b:date#2", "id:int32#1 b:timestamp#2"]
    assert tails(plan("evolve", table(dates[1]), *dates)) == []
    text = "id:int32#1 b:string#2"
    assert tails(plan("evolve", table(text), whole[0], text)) == []


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ("string int32", "column b was string and is int in events of one batch"),
        ("int32 string int32", "column b was int and is string in events of one batch"),
        ("float64 float32", "column b was double and is float in events of one batch"),
    ],
)
def test_new_table_is_refused_when_its_first_batch_would_lose_values(
    shapes: str, reason: str
) -> None:
    made = [f"id:int32#1 b:{kind}#2" for kind in shapes.split()]
    for policy in ("evolve", "freeze", "halt"):
        found = refusal(policy, None, *made)
        assert (found.code, found.reason, found.fixes) == ("spark-type-changed", reason, ())
        assert "lenient" in found.then
        assert "headwater backfill start FILE items" in found.then
    newest = stored_type(shape(made[-1]).columns[1].type)
    assert [each.kind for each in plan("lenient", None, *made).kept] == ["int", newest]
    # Rows that count no more are not asked; nor is anything refused where no table is made.
    assert isinstance(plan("evolve", None, *made), Plan)
    assert isinstance(as_newest([shape(each) for each in made]), Plan)


def test_new_table_takes_a_column_as_text_when_it_is_text_in_the_end() -> None:
    made = [f"id:int32#1 b:{kind}#2" for kind in ("string", "int32", "string")]
    assert [each.kind for each in plan("halt", None, *made).kept] == ["int", "string"]


@pytest.mark.parametrize("shapes", ["string", "int64 string int32", "date int32"])
def test_lenient_refuses_a_key_that_would_become_null(shapes: str) -> None:
    made = [f"id:{kind}#1 b:int32#2" for kind in shapes.split()]
    found = refusal("lenient", table("id:int32#1 b:int32#2"), *made)
    assert (found.code, found.fixes) == ("spark-type-changed", ())
    assert found.then.startswith("remove the table's folder")


def test_lenient_takes_a_key_that_keeps_rows_apart() -> None:
    text = table("id:string#1 b:int32#2")
    assert tails(plan("lenient", text, "id:int32#1 b:int32#2", "id:date#1 b:int32#2")) == []
    held, other = table("id:int32#1 b:int32#2"), shape("id:string#1 b:int32#2")
    # An append log tells no rows apart.
    log = planned(SchemaPolicy("lenient"), [other], held, Keeping(history=True))
    assert isinstance(log, Plan)
    new = refusal("lenient", None, "id:string#1 b:int32#2", "id:int32#1 b:int32#2")
    assert "append_log" in new.then


def test_halt_names_the_column_that_stands_where_another_is_to_be() -> None:
    own = Held("c", "string", "c", ours=False)
    held = TableShape((*table("id:int32#1 b:string#2").columns, own), None)
    assert tails(refusal("evolve", held, "id:int32#1 c:string#2")) == ["DROP COLUMN c"]


def test_another_key_is_refused_and_a_renamed_one_is_not() -> None:
    held = table("id:int32#1 b:int32#2")
    renamed = TableSchema(ITEMS, tuple(map(column, ("no:int32#1", "b:int32#2"))), ("no",))
    other = shape("id:int32#1 b:int32#2", ("id", "b"))
    keeping = Keeping(keyed=(renamed,))
    assert isinstance(planned(SchemaPolicy(), [renamed], held, keeping), Plan)
    refused = planned(SchemaPolicy(), [other], held, Keeping(keyed=(other,)))
    assert isinstance(refused, Refusal)
    assert refused.code == "spark-key-changed"
    # Nothing of the table counts any more, or nobody asks for its key.
    for lax in (Keeping(keyed=(other,), rests=False), Keeping(history=True)):
        assert isinstance(planned(SchemaPolicy(), [other], held, lax), Plan)
    both = planned(SchemaPolicy(), [shape("id:int32#1 b:int32#2"), other], None, Keeping())
    assert isinstance(both, Plan)
    mixed = Keeping(keyed=(shape("id:int32#1 b:int32#2"), other))
    assert isinstance(planned(SchemaPolicy(), list(mixed.keyed), None, mixed), Refusal)


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
