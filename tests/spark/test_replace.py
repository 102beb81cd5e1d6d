"""Rows replaced by key without a MERGE: the same tables, one commit, and nothing that gets lost."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.sql import column_list
from headwater.spark.table.delta import DeltaTarget, DeltaTargets
from headwater.spark.table.layout import MIRROR, SEQUENCE
from headwater.spark.table.pruning import RowsReach
from headwater.spark.table.target import Standing, Whole

pytestmark = pytest.mark.spark

# Names that need quoting, in the key and beside it.
KEY, OTHER = "odd `key`", "its value"
THINGS = TableSchema(
    table=TableId(None, "things"),
    columns=(
        Column(KEY, LogicalType(Kind.STRING)),
        Column("part", LogicalType(Kind.INT64)),
        Column(OTHER, LogicalType(Kind.STRING)),
    ),
    primary_key=(KEY, "part"),
)
TYPES = {KEY: "string", "part": "bigint", OTHER: "string", SEQUENCE: "bigint", "gone": "boolean"}
Held = dict[tuple[str | None, int], tuple[str, int]]


def _never(name: str, view: str) -> str:
    raise AssertionError((name, view))


def _write(table: DeltaTarget, rows: DataFrame, until: int) -> None:
    table.write(rows, until, _never, _whole(rows))


def _whole(rows: DataFrame) -> Whole:
    key = THINGS.primary_key
    return Whole(rows, key, "gone", RowsReach(rows, key, Standing(None, 0)))


def _frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, column_list(TYPES)).repartition(2)


def _rows(spark: SparkSession, path: str) -> Held:
    found = spark.read.format("delta").load(path).collect()
    held = {(row[KEY], row["part"]): (row[OTHER], row[SEQUENCE]) for row in found}
    assert len(held) == len(found)
    return held


def _last(spark: SparkSession, path: str) -> Any:
    return spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0]


def test_tables_are_what_the_batches_say_whatever_else_writes_in_between(
    spark: SparkSession, tmp_path: Path
) -> None:
    chooser = random.Random(5)
    targets = DeltaTargets(str(tmp_path), "log")
    table = targets.open(spark, THINGS.table, "mirror")
    table.prepare(THINGS, MIRROR)
    expected: Held = {}
    keys: list[tuple[str | None, int]] = [
        (name, part) for name in (None, "", "a", "é", "'") for part in range(8)
    ]
    for until in range(1, 7):
        # The first batch brings every key; the fourth takes all of them away.
        chosen = keys if until in (1, 4) else chooser.sample(keys, 9)
        rows = []
        for key in chosen:
            gone = until == 4 or (until > 1 and chooser.random() < 0.3)
            rows.append((*key, f"{until}:{key}", until, gone))
            expected.pop(key, None)
            if not gone:
                expected[key] = (f"{until}:{key}", until)
        _write(table, _frame(spark, rows), until)
        _write(table, _frame(spark, [("never", 1, "twice", until, False)]), until)
        assert _rows(spark, table.place) == expected, until
        assert table.standing().applied == until
        assert f'"sequence": {until}' in _last(spark, table.place)["userMetadata"]
        if until == 2:  # a version that the writer does not know
            spark.sql(f"OPTIMIZE delta.`{table.place}`")
            assert _rows(spark, table.place) == expected


def test_files_are_chosen_by_the_name_that_a_renamed_key_has_in_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The key gets the name of another column, whose bounds in older files are not its own."""
    whole = LogicalType(Kind.INT64)
    schema = TableSchema(TableId(None, "codes"), (Column("id", whole), Column("code", whole)), ())
    table = DeltaTargets(str(tmp_path), "log").open(spark, schema.table, "mirror")
    table.prepare(schema, MIRROR)

    def write(names: tuple[str, str], until: int, number: int) -> None:
        types = dict.fromkeys((*names, SEQUENCE), "bigint") | {"gone": "boolean"}
        row = {names[0]: number, names[1]: 100 + number, SEQUENCE: until, "gone": False}
        frame = spark.createDataFrame([tuple(row[name] for name in types)], column_list(types))
        frame = frame.coalesce(1)
        reach = RowsReach(frame, names[:1], Standing(None, 0, files=99))
        table.write(frame, until, _never, Whole(frame, names[:1], "gone", reach))

    for number in range(1, 4):
        write(("id", "code"), number, number)
    name = f"delta.`{table.place}`"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN code TO code_old")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO code")
    write(("code", "code_old"), 9, 2)
    held = spark.read.format("delta").load(table.place).select("code", SEQUENCE).collect()
    assert sorted(map(tuple, held)) == [(1, 1), (2, 9), (3, 3)]


def test_another_driver_in_between_makes_the_commit_fail(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both began when the table was empty: the second would double the key of the first."""
    from headwater.spark.table.delta_files import KnownFiles
    from headwater.spark.table.delta_replace import Replacement

    table = DeltaTargets(str(tmp_path), "log").open(spark, THINGS.table, "mirror")
    table.prepare(THINGS, MIRROR)
    late = [Replacement(spark, table.place, KnownFiles()) for _ in range(2)]
    _write(table, _frame(spark, [("a", 1, "first", 1, False)]), 1)
    whole = _whole(_frame(spark, [("a", 1, "late", 2, False)]))
    for driver, app_id in zip(late, ("headwater:log", "another"), strict=True):
        with pytest.raises(Exception, match="Concurrent"):
            driver.commit(whole, app_id, 2)
    assert _rows(spark, table.place) == {("a", 1): ("first", 1)}


@pytest.mark.parametrize(
    "change",
    [
        "ADD COLUMN mine string",
        "SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    ],
)
def test_statement_is_used_where_rows_cannot_be_replaced(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    """A column of somebody else's must stay, a feed tells updates, and marks may be unwanted."""
    table = DeltaTargets(str(tmp_path), "log").open(spark, THINGS.table, "mirror")
    table.prepare(THINGS, MIRROR)
    spark.sql(f"ALTER TABLE delta.`{table.place}` {change}")
    asked: list[str] = []

    def statement(name: str, view: str) -> str:
        asked.append(name)
        return f"SELECT '{view}'"

    rows = _frame(spark, [("a", 1, "one", 1, False)])
    table.write(rows, 1, statement, _whole(rows))
    assert len(asked) == 1
