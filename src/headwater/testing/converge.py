"""`assert_converges`: tables that follow a history are right, however it was cut and repeated.

Spark may give a micro-batch a second time after a crash; a checkpoint may be lost, and with it the
place from which a stream goes on. A pipeline that converges holds the same rows after all of it.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark.job import TableJob
from headwater.app.spark.targets import targets_of
from headwater.app.tables import choose_tables
from headwater.event import TableSchema
from headwater.log import SqliteLog
from headwater.spark.modes import Mode, Modes
from headwater.spark.table.parquet import Appended
from headwater.spark.table.path import table_path
from headwater.testing.history.log import History
from headwater.testing.kept import compared

Apply = Callable[[DataFrame, int], object]
Read = Callable[[str], DataFrame]
Held = Callable[[TableSchema, Mode], DataFrame | None]


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
    - `read`: the rows of a table, by its name with its schema; a job's own tables need none, and
      are read in each mode that they are kept in. Columns that neither the source nor the mode has
      are not looked at.
    - `tables`: globs of the tables to compare; of a job, at most those that it keeps.
    - `batches`: how many cuts.
    - `lost_checkpoint`: also begin again further back, as new batches; as a rule only for jobs.

    The cuts follow the history's seed. An AssertionError shows the first keys that differ. It is a
    mistake if there is nothing to compare: `[table-unknown]`, or an AssertionError.
    """
    __tracebackhide__ = True
    chooser = random.Random(history.seed)  # noqa: S311 - it has to be the same every time
    if isinstance(pipeline, TableJob):
        _run(pipeline, history, chooser, batches, again=lost_checkpoint is not False)
        modes = pipeline.kept() if read is None else Modes(tables=pipeline.tables)
        held = _tables(pipeline, history) if read is None else _seen(read)
    elif read is None:
        raise TypeError("assert_converges needs read= to see what the function wrote")
    else:
        _feed(pipeline, history, chooser, batches, again=bool(lost_checkpoint))
        modes, held = Modes(), _seen(read)
    chosen = choose_tables(tables, (), sorted(history.tables), "assert_converges(tables=...)")
    found = {
        f"{table}" if mode == "mirror" else f"{table}@{mode}": compared(
            held(history.tables[table], mode), history.tables[table], mode, history.oracle(table)
        )
        for table in chosen
        for mode in modes.of(table)
    }
    if not found:
        raise AssertionError(f"the job keeps none of {', '.join(map(str, chosen))}")
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


def _seen(read: Read) -> Held:
    """What the test reads: the rows that are."""
    return lambda schema, _mode: read(str(schema.table))


def _tables(job: TableJob, history: History) -> Held:
    """The job's own tables; None for one that is not there."""
    session = SparkSession.active()
    with closing(history.log.reader()) as reader:
        targets = targets_of(job.table_format, job.location, reader.log_id)

    def rows(schema: TableSchema, mode: Mode) -> DataFrame | None:
        if targets is None:
            path = table_path(job.location, schema.table)
            return Appended(session, path).rows(schema.primary_key)
        target = targets.open(session, schema.table, mode)
        return target.rows(target.standing())

    return rows
