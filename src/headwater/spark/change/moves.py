"""Rows that change their key without saying all of themselves: the rest comes from what they were.

PostgreSQL sends a changed key without the long values that were left alone. They stand in the table
under the old key, unless the same batch changed the row before: then they are what those changes
said, and the row may have had other keys still. So the changes of one row are followed through its
keys, and the table is asked once, for the key under which the batch found the row.

Applying the batch in pieces, each up to the next move, would need none of this. But a reader of the
table would see half of a transaction (INV-7), and a chain of moves would cost a commit per link.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from headwater.spark.change.changes import (
    DELETED,
    MISSING,
    MOVED,
    PARTIAL,
    SEQ,
    TableChanges,
    key_columns,
    names_where,
    says,
)
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.sought import sought
from headwater.spark.sql import quoted

_ARRIVES = "__arrives"
_DEPARTS = "__departs"
_STORY = "__story"
_ORIGIN = "__origin"
_STAY = "__stay"
_WHOLE = "__told_whole"
_HELD = "__held"


def completed(rows: DataFrame, changes: TableChanges, table: DataFrame | None) -> DataFrame:
    """The changes, with each moved row made whole from what it was.

    `table` is the table before these changes, None if nothing in it counts. A row that it does not
    hold stays partial: its snapshot is still to come.
    """
    told = _told(_in_stories(_with_moves(rows, changes)), changes)
    held = _with_held(told, rows, changes, table)
    values = {name: f.col(_told_name(place)) for place, name in enumerate(changes.others)}
    unsent = names_where({name: value.isNull() for name, value in values.items()})
    found = f.col(_HELD).isNotNull()
    whole = f.col(_WHOLE) | found | (f.size(unsent) == 0)
    mended = {MISSING: f.when(~found, unsent).otherwise(names_where({})), PARTIAL: ~whole} | {
        name: f.when(value.isNotNull(), value["value"]).otherwise(f.col(_HELD)[name])
        for name, value in values.items()
    }
    own = {name: f.col(quoted(name)) for name in rows.columns}
    return held.select(
        *(
            f.when(_arrival(), mended[name]).otherwise(column).alias(name)
            if name in mended
            else column
            for name, column in own.items()
        )
    )


def _carried() -> SparkColumn:
    return f.col(MOVED) & f.col(PARTIAL)


def _arrival() -> SparkColumn:
    return _carried() & ~f.col(DELETED)


def _with_moves(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Each change with the move that brought its row to the key and the one that took it away.

    A key may be used by one row after another; what removes a row is the last that it does there.
    """
    key = key_columns(changes)
    before = Window.partitionBy(*key).orderBy(SEQ).rowsBetween(Window.unboundedPreceding, -1)
    removed = f.count_if(f.col(DELETED)).over(before)
    stay = Window.partitionBy(*key, _STAY)
    moves = {_ARRIVES: _arrival(), _DEPARTS: _carried() & f.col(DELETED)}
    return rows.withColumn(_STAY, removed).withColumns(
        {name: f.max(f.when(is_it, f.col(SEQ))).over(stay) for name, is_it in moves.items()}
    )


def _in_stories(moves: DataFrame) -> DataFrame:
    """Each change of a moved row with the row's first move, which names its story."""
    chained = f.col(_ARRIVES).isNotNull() & f.col(_DEPARTS).isNotNull()
    links = moves.where(chained).select(_ARRIVES, _DEPARTS).distinct().collect()
    first: dict[int, int] = {}
    for arrives, departs in sorted((int(link[0]), int(link[1])) for link in links):
        first[departs] = first.get(arrives, arrives)
    move = f.coalesce(_ARRIVES, _DEPARTS)
    if not first:
        return moves.withColumn(_STORY, move)
    names = moves.sparkSession.createDataFrame(list(first.items()), "__move bigint, __first bigint")
    joined = moves.join(f.broadcast(names), move == f.col("__move"), "left")
    return joined.withColumn(_STORY, f.coalesce("__first", move))


def _told_name(place: int) -> str:
    return f"__told_{place}"


def _told(stories: DataFrame, changes: TableChanges) -> DataFrame:
    """Each change with what its story has said so far, and the key under which it began."""
    so_far = (
        # A change without a story is one of its own, not one of a single giant one.
        Window.partitionBy(f.coalesce(_STORY, -f.col(SEQ)))
        .orderBy(f.col(SEQ), f.col(DELETED).desc())
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    told = {
        _told_name(place): f.last(
            f.when(says(name), f.struct(f.col(quoted(name)).alias("value"))), ignorenulls=True
        ).over(so_far)
        for place, name in enumerate(changes.others)
    }
    whole = f.max(~f.col(DELETED) & ~f.col(PARTIAL)).over(so_far)
    # The first row to stand at a key in the batch may be the table's; a later one is not.
    origin = f.first(f.when(f.col(_STAY) == 0, f.struct(*key_columns(changes)))).over(so_far)
    return stories.withColumns({**told, _WHOLE: whole, _ORIGIN: f.when(_arrival(), origin)})


def _with_held(
    told: DataFrame, rows: DataFrame, changes: TableChanges, table: DataFrame | None
) -> DataFrame:
    """Each moved row beside what the table holds where its story began."""
    kinds = {column.name: stored_type(column.type) for column in changes.schema.columns}
    if table is None:
        fields = ", ".join(f"{quoted(name)}: {kinds[name]}" for name in changes.others)
        return told.withColumn(_HELD, f.lit(None).cast(f"struct<{fields}>"))
    # A column that the batch adds is not in the table yet.
    present = {
        name: f.col(quoted(name)) if name in table.columns else f.lit(None).cast(kinds[name])
        for name in changes.others
    }
    key = f.struct(*key_columns(changes))
    left = rows.where(_carried() & f.col(DELETED)).select(key.alias("__left")).distinct()
    held = table.select(
        key.alias("__key"),
        f.struct(*(each.alias(name) for name, each in present.items())).alias(_HELD),
    ).join(
        sought(left, changes.carrying),
        f.col("__key") == f.col("__left"),
        "left_semi",
    )
    return told.join(held, f.col(_ORIGIN) == f.col("__key"), "left")
