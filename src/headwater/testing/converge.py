"""`assert_converges`: tables that follow a history are right, however it was cut and repeated.

Spark may give a micro-batch a second time after a crash; a checkpoint may be lost, and with it the
place from which a stream goes on. A pipeline that converges holds the same rows after all of it.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark.job import TableJob
from headwater.event import TableSchema, encode_row
from headwater.log import SqliteLog
from headwater.spark.proof.rows import as_stored, stored_rows
from headwater.spark.table.parquet import current_rows
from headwater.spark.table.path import table_path
from headwater.testing.history.difference import difference
from headwater.testing.history.log import History

Apply = Callable[[DataFrame, int], object]
Read = Callable[[str], DataFrame]


def assert_converges(
    pipeline: TableJob | Apply,
    history: History,
    *,
    read: Read | None = None,
    tables: Sequence[str] = ("*",),
    batches: int = 4,
    lost_checkpoint: bool | None = None,
) -> None:
    """Apply the history in random cuts and repetitions, then compare every table.

    - `pipeline`: a `TableJob` on `history.path`, or a function for `foreachBatch`.
    - `read`: the rows of a table, by its name with its schema; a job's own tables need none.
      Columns that the source does not have are not looked at.
    - `tables`: globs of the tables to compare; of a job, at most those that it keeps.
    - `batches`: how many cuts.
    - `lost_checkpoint`: also begin again further back, as new batches; as a rule only for jobs.

    The cuts follow the history's seed. An AssertionError shows the first keys that differ.
    """
    __tracebackhide__ = True
    chooser = random.Random(history.seed)  # noqa: S311 - it has to be the same every time
    kept: Sequence[str] = ("*",)
    if isinstance(pipeline, TableJob):
        _run(pipeline, history, chooser, batches, again=lost_checkpoint is not False)
        read, kept = read or _reader(pipeline, history), pipeline.tables or kept
    else:
        _feed(pipeline, history, chooser, batches, again=bool(lost_checkpoint))
    if read is None:
        raise TypeError("assert_converges needs read= to see what the function wrote")
    found = {
        str(table): _compared(read(str(table)), history, schema)
        for table, schema in sorted(history.tables.items())
        if table.matches(tables) and table.matches(kept)
    }
    wrong = [f"{table}: {words}" for table, words in found.items() if words]
    if wrong:
        raise AssertionError("\n".join([f"history of seed {history.seed}:", *wrong]))


def _grown(history: History, chooser: random.Random, batches: int) -> Iterable[int]:
    """Where the log stood before each of the cuts."""
    for left in range(batches, 0, -1):
        before = history.head
        most = max(history.left - left + 1, 1)
        history.grow(history.left if left == 1 else chooser.randint(1, most))
        if history.head > before:
            yield before


def _feed(
    apply: Apply, history: History, chooser: random.Random, batches: int, *, again: bool
) -> None:
    """Micro-batches by hand: one may come twice, with the id that it had."""
    number, starts = 0, [0]
    for before in _grown(history, chooser, batches):
        starts.append(before)
        for _ in range(chooser.choice((1, 2)) if history.left else 2):
            apply(_frame(history, before), number)
        number += 1
        if again and chooser.random() < 0.5:
            apply(_frame(history, chooser.choice(starts)), number)
            number += 1


def _frame(history: History, after: int) -> DataFrame:
    reader = SparkSession.active().read.format("headwater").option("startingSequence", after)
    return reader.option("endingSequence", history.head).load(str(history.path))


def _run(
    job: TableJob, history: History, chooser: random.Random, batches: int, *, again: bool
) -> None:
    """Runs of the real stream; now and then its checkpoint is lost and its cursor set back."""
    session, starts = SparkSession.active(), [0]
    for before in _grown(history, chooser, batches):
        starts.append(before)
        job.run_once(session)
        if again and chooser.random() < 0.5:
            shutil.rmtree(job.checkpoint, ignore_errors=True)
            SqliteLog(history.path).rewind(job.consumer, chooser.choice(starts))
            job.run_once(session)


def _reader(job: TableJob, history: History) -> Read:
    session = SparkSession.active()
    schemas = {str(table): schema for table, schema in history.tables.items()}

    def rows(table: str) -> DataFrame:
        schema = schemas[table]
        path = table_path(job.location, schema.table)
        if job.table_format == "parquet":
            return current_rows(session, path, schema.primary_key)
        return session.read.format(job.table_format).load(path)

    return rows


def _compared(frame: DataFrame, history: History, schema: TableSchema) -> str:
    names = {column.name for column in schema.columns}
    lacking = sorted(names - set(frame.columns))
    if lacking:
        return f"the table has no column {', '.join(lacking)}"
    wanted = history.oracle(schema.table).rows.values()
    stored = (as_stored(encode_row(row), schema) for row in wanted)
    return difference(stored_rows(frame, schema), stored, schema.primary_key)
