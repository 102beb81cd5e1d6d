"""Tables that follow their source through every change of its columns, in every mode.

One history with columns added, widened, renamed, dropped and made anew is applied in batches that
end at the changes, that lie across them, and in one batch; the tables must be the same, and what
an oracle in plain Python says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat
from headwater.errors import ConfigError
from headwater.event import Operation
from headwater.log import SqliteLog
from headwater.spark.change.kinds import widens
from headwater.spark.modes import MODES, Mode
from headwater.spark.policy import SchemaPolicy
from tests.spark.theirs import theirs
from tests.spark.things import FINAL, Pond, Things, expected, row_at, shape, story

pytestmark = pytest.mark.spark


def test_tables_of_every_mode_are_the_same_wherever_batches_are_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-10, and in order with the data: no value lands in a column that is not its own."""
    things, ends = story(SqliteLog.create(tmp_path / "things.hwlog"))
    things.write()
    across = [2, *(end + 2 for end in ends[:-1]), ends[-1]]
    lakes: list[tuple[Sequence[Mode], list[int]]] = [
        (MODES, across),
        (("mirror",), ends),
        (("mirror", "scd2"), ends[-1:]),
    ]
    for place, (modes, cuts) in enumerate(lakes):
        pond = Pond(spark, things, tmp_path / str(place), modes)
        for after, until in zip([0, *cuts], cuts, strict=False):
            pond.apply(after, until)
        pond.apply(0, ends[-1])
        for mode in modes:
            assert set(pond.columns(mode)) == set(FINAL.values()), (place, mode)
            held = pond.held(mode, list(FINAL.values()))
            assert held == expected(things, mode, FINAL), (place, mode)


def _small(log: SqliteLog, *shapes: str) -> Things:
    """One row per shape, and the row before it changed."""
    things = Things(log, shape(shapes[0]))
    for turn, text in enumerate(shapes):
        things.becomes(text)
        for number in range(max(turn - 1, 0), turn + 1):
            op = Operation.INSERT if number == turn else Operation.UPDATE
            things.tell(op, **row_at(things.schema, turn, number))
    things.write()
    return things


BEFORE = "id:int32#1 name:string#2 qty:int32#3"


@pytest.mark.parametrize(
    ("policy", "after", "columns", "row"),
    [
        (
            "lenient",
            "id:int32#1 title:string#2 qty:int64#3 day:date#4",
            {"id": "int", "name": "string", "qty": "bigint", "day": "date"},
            ("text 1 1", (1 << 40) + 1001),
        ),
        # What does not fit: text takes everything, a number takes what is one.
        (
            "lenient",
            "id:int32#1 name:int32#2 qty:string#3",
            {"id": "int", "name": "string", "qty": "int"},
            ("1001", None),
        ),
        (
            "freeze",
            "id:int32#1 title:string#2 day:date#4",
            {"id": "int", "name": "string", "qty": "int"},
            ("text 1 1", None),
        ),
    ],
)
def test_policy_decides_which_columns_a_table_gets(
    spark: SparkSession,
    tmp_path: Path,
    table_format: TableFormat,
    *,
    policy: Any,
    after: str,
    columns: dict[str, str],
    row: tuple[Any, ...],
) -> None:
    things = _small(SqliteLog.create(tmp_path / "things.hwlog"), BEFORE, after)
    pond = Pond(spark, things, tmp_path / "lake", ("mirror",), SchemaPolicy(policy), table_format)
    for after_event, until in ((0, 1), (1, len(things.events))):
        pond.apply(after_event, until)
    assert pond.columns() == columns
    held = {each[0]: each[1:] for each in pond.held("mirror", ["id", "name", "qty"])}
    assert held[1][:2] == row
    # The row that was there and was told again.
    assert held[0][:2] == (row[0].replace("1 1", "1 0").replace("1001", "1000"), held[0][1])


@pytest.mark.parametrize(
    ("policy", "after", "code"),
    [
        ("halt", "id:int32#1 title:string#2 qty:int64#3 day:timestamp#4", "spark-schema-halted"),
        ("evolve", "id:int32#1 name:string#2 qty:string#3", "spark-type-changed"),
        ("evolve", "id:int32#1 name:date#2 qty:int32#3", "spark-type-changed"),
    ],
)
def test_table_goes_on_when_the_statements_of_the_halt_were_run(
    spark: SparkSession,
    tmp_path: Path,
    table_format: TableFormat,
    *,
    policy: Any,
    after: str,
    code: str,
) -> None:
    things = _small(SqliteLog.create(tmp_path / "things.hwlog"), BEFORE, after)
    pond = Pond(spark, things, tmp_path / "lake", ("mirror",), SchemaPolicy(policy), table_format)
    pond.apply(0, 1)
    with pytest.raises(ConfigError) as caught:
        pond.apply(1, len(things.events))
    assert caught.value.code == code
    assert pond.columns() == {"id": "int", "name": "string", "qty": "int"}
    session, _ = theirs(spark, table_format, pond.target / "any")
    for statement in caught.value.hint.split("; "):
        if statement.startswith(("ALTER", "UPDATE")):
            session.sql(statement)
    pond.apply(0, len(things.events))
    wanted = [each.name for each in shape(after).columns]
    assert sorted(pond.columns()) == sorted(wanted)
    (last,) = [each for each in pond.held("mirror", wanted) if each[0] == 1]
    assert None not in last[: len(wanted)]


def test_types_that_widen_are_those_that_the_installed_delta_widens(
    spark: SparkSession,
) -> None:
    jvm: Any = spark._jvm
    delta = jvm.org.apache.spark.sql.delta.TypeWidening
    parsed = jvm.org.apache.spark.sql.types.DataType
    kinds = (
        *("boolean", "smallint", "int", "bigint", "float", "double", "string", "binary"),
        *("decimal(5,0)", "decimal(10,0)", "decimal(10,2)", "decimal(12,2)", "decimal(12,4)"),
        *("decimal(20,0)", "decimal(22,2)", "decimal(38,0)", "date", "timestamp_ntz", "timestamp"),
    )
    differing = [
        (old, new)
        for old in kinds
        for new in kinds
        if old != new
        and widens(old, new)
        != delta.isTypeChangeSupported(parsed.fromDDL(old), parsed.fromDDL(new))
    ]
    assert differing == []
