"""Every change as the whole row that it left behind: for tables that keep what was.

Under a key one row lives after another. A life begins when a row comes to the key and ends with a
delete, a move to another key or a truncate; what was known of one is not known of the next. A row
of which a part is unknown is not told of until it is whole (INV-10).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as f

from headwater.spark.change.changes import (
    AT,
    DELETED,
    MISSING,
    MOVED,
    PARTIAL,
    SEQ,
    TableChanges,
    flag,
    key_columns,
    names_where,
    says,
    truncates,
)
from headwater.spark.change.moves import completed
from headwater.spark.change.task import Task, task_rows
from headwater.spark.sql import quoted

HELD = "__held"

_LIFE = "__life"
_WHOLE = "__whole"
_END = "__end"


def whole_changes(task: Task, after: int, held: DataFrame | None) -> DataFrame:
    """What made a difference after a position, in whole rows: SEQ, AT, DELETED, columns and HELD.

    `held` has the table's last row of each key, with SEQ, AT and DELETED. Those that the changes
    concern come back among them, marked HELD.
    """
    changes = task.changes
    rows = task_rows(task, after)
    emptied = changes.emptied(after)
    if emptied:
        ends = _ends(rows, held, truncates(task.frame, changes, after), changes)
        rows = rows.unionByName(ends, allowMissingColumns=True)
    if changes.carrying:
        rows = completed(rows, changes, None if held is None else held.where(~f.col(DELETED)))
    marked = rows.withColumn(HELD, flag(value=False))
    if held is not None:
        known = _known(held if emptied else _touched(held, rows, changes))
        names = [quoted(name) for name in known.columns if name in marked.columns]
        marked = _newer(marked.unionByName(known.select(*names), allowMissingColumns=True), changes)
    return _telling(_told(_in_lives(marked, changes), changes), changes)


def _by_key(changes: TableChanges) -> WindowSpec:
    return Window.partitionBy(*key_columns(changes)).orderBy(SEQ)


def _ends(
    rows: DataFrame, held: DataFrame | None, emptied: DataFrame, changes: TableChanges
) -> DataFrame:
    """A truncate is the end of every row that stood: a delete of each, at the first to come."""
    names = [*key_columns(changes), f.col(SEQ)]
    stood = rows.where(~f.col(DELETED)).select(*names)
    if held is not None:
        stood = stood.union(held.where(~f.col(DELETED)).select(*names))
    end = emptied.select(f.struct(SEQ, AT).alias(_END))
    first = (
        stood.join(f.broadcast(end), f.col(_END)[SEQ] > f.col(SEQ))
        .groupBy(*names)
        .agg(f.min(_END).alias(_END))
    )
    told = first.select(
        *key_columns(changes), f.col(_END)[SEQ].alias(SEQ), f.col(_END)[AT].alias(AT)
    )
    return _known(told.withColumn(DELETED, flag(value=True))).drop(HELD)


def _known(rows: DataFrame) -> DataFrame:
    """Rows that say all of themselves, where they are."""
    no = flag(value=False)
    return rows.withColumns({MISSING: names_where({}), PARTIAL: no, MOVED: no, HELD: ~no})


def _touched(held: DataFrame, rows: DataFrame, changes: TableChanges) -> DataFrame:
    key = f.struct(*key_columns(changes))
    touched = rows.select(key.alias("__touched")).distinct()
    return held.withColumn("__key", key).join(
        touched, f.col("__key") == f.col("__touched"), "left_semi"
    )


def _newer(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """An older change loses against the row that the table holds, as in a mirror."""
    stands = f.max(f.when(f.col(HELD), f.col(SEQ))).over(Window.partitionBy(*key_columns(changes)))
    newer = f.coalesce(f.col(SEQ) > f.col("__stands"), flag(value=True))
    return rows.withColumn("__stands", stands).where(f.col(HELD) | newer).drop("__stands")


def _in_lives(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Each change with the number of the life that it belongs to; a delete is the last of its."""
    order = _by_key(changes)
    ended = f.count_if(DELETED).over(order.rowsBetween(Window.unboundedPreceding, -1))
    came = f.count_if(f.col(MOVED) & ~f.col(DELETED)).over(
        order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return rows.withColumn(_LIFE, ended + came)


def _told(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Each change with all that its life has told so far, and whether that is the whole row."""
    so_far = (
        Window.partitionBy(*key_columns(changes), _LIFE)
        .orderBy(SEQ)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    told = {
        f"__told_{place}": f.last(
            f.when(says(name), f.struct(f.col(quoted(name)).alias("value"))), ignorenulls=True
        ).over(so_far)
        for place, name in enumerate(changes.others)
    }
    sent = f.max(~f.col(DELETED) & ~f.col(PARTIAL)).over(so_far)
    every = flag(value=True)
    for name in told:
        every = every & f.col(name).isNotNull()
    values = zip(changes.others, told, strict=True)
    return (
        rows.withColumns({**told, "__sent": sent})
        .withColumn(_WHOLE, f.col("__sent") | every)
        .select(
            *(SEQ, AT, DELETED, HELD, _LIFE, _WHOLE),
            *key_columns(changes),
            *(f.col(place)["value"].alias(name) for name, place in values),
        )
    )


def _telling(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Without what changed nothing: the end of a row that was not there.

    A row that came to the key and is not whole cannot stand, nor can what it replaced.
    """
    stands = rows.where(f.col(_WHOLE) | (f.col(_LIFE) > 0)).withColumn(
        DELETED, f.col(DELETED) | ~f.col(_WHOLE)
    )
    nothing = f.lag(DELETED, default=True).over(_by_key(changes))
    return (
        stands.withColumn("__nothing", nothing)
        .where(~(f.col(DELETED) & f.col("__nothing")))
        .drop(_LIFE, _WHOLE, "__nothing")
    )
