"""Changes of columns that stop a table, wherever a batch is cut, and what it says then."""

from __future__ import annotations

import pytest

from headwater.event import TableSchema
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.lineage import Held
from headwater.spark.policy import Policy, SchemaPolicy
from headwater.spark.table.evolution import Keeping, Plan, as_newest, planned
from headwater.spark.table.refusal import Refusal
from headwater.spark.table.shape import TableShape
from tests.unit.spark.shapes import ITEMS, column, plan, refusal, shape, table, tails


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
    assert ("backfill" in found.then) == source.endswith("b:date")
    assert found.anew == ("id:date" in source)


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
    assert found.anew


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
    assert (refused.code, refused.anew) == ("spark-key-changed", True)
    # Nothing of the table counts any more, or nobody asks for its key.
    for lax in (Keeping(keyed=(other,), rests=False), Keeping(history=True)):
        assert isinstance(planned(SchemaPolicy(), [other], held, lax), Plan)
    both = planned(SchemaPolicy(), [shape("id:int32#1 b:int32#2"), other], None, Keeping())
    assert isinstance(both, Plan)
    mixed = Keeping(keyed=(shape("id:int32#1 b:int32#2"), other))
    assert isinstance(planned(SchemaPolicy(), list(mixed.keyed), None, mixed), Refusal)
