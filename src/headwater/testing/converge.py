"""`assert_converges`: tables that follow a history are right, however it was cut and repeated.

Spark may give a micro-batch a second time after a crash; a checkpoint may be lost, and with it the
place from which a stream goes on. A pipeline that converges holds the same rows after all of it.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

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

    It is applied from its beginning to its end, whatever of it was written before.

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
        run = partial(pipeline.run_once, SparkSession.active())
        lose, again = partial(_lose, pipeline, history), lost_checkpoint is not False
        _follow(run, lose, history, chooser, batches, again=again)
        modes = pipeline.kept() if read is None else Modes(tables=pipeline.tables)
        held = _tables(pipeline, history) if read is None else _seen(read)
    elif read is None:
        raise TypeError("assert_converges needs read= to see what the function wrote")
    else:
        give, again = partial(_give, pipeline, history), bool(lost_checkpoint)
        _feed(give, history, chooser, batches, again=again)
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


def _cuts(history: History, chooser: random.Random, batches: int) -> Iterator[tuple[int, int]]:
    """The history from its beginning in that many ranges, each written before it is told.

    What was written before is cut as the rest is: the same seed tells the same cuts.
    """
    total, done, before = len(history.ends) + history.left, 0, 0
    for left in range(batches, 0, -1):
        most = max(total - done - left + 1, 1)
        done = total if left == 1 else min(done + chooser.randint(1, most), total)
        history.grow(done - len(history.ends))
        until = history.ends[done - 1] if done else 0
        if until > before:
            yield before, until
        before = until


def _feed(
    give: Callable[[int, int, int], object],
    history: History,
    chooser: random.Random,
    batches: int,
    *,
    again: bool,
) -> None:
    """Micro-batches by hand, as (after, until, id): one may come twice, with the id that it had."""
    number, starts, total = 0, [0], len(history.ends) + history.left
    for before, until in _cuts(history, chooser, batches):
        starts.append(before)
        more = until < history.head or len(history.ends) < total
        for _ in range(chooser.choice((1, 2)) if more else 2):
            give(before, until, number)
        number += 1
        if again and chooser.random() < 0.5:
            give(chooser.choice(starts), until, number)
            number += 1


def _give(apply: Apply, history: History, after: int, until: int, batch_id: int) -> None:
    reader = SparkSession.active().read.format("headwater").option("startingSequence", after)
    apply(reader.option("endingSequence", until).load(str(history.path)), batch_id)


def _follow(
    run: Callable[[], object],
    lose: Callable[[int], object],
    history: History,
    chooser: random.Random,
    batches: int,
    *,
    again: bool,
) -> None:
    """Runs of a stream, which takes all that is there; now and then `lose` sets it back."""
    given, starts = -1, [0]
    for before, _ in _cuts(history, chooser, batches):
        starts.append(before)
        if history.head > given:
            given = history.head
            run()
        if again and chooser.random() < 0.5:
            lose(chooser.choice(starts))
            run()


def _lose(job: TableJob, history: History, start: int) -> None:
    """As if the checkpoint were lost, and with it the place from which the stream goes on."""
    shutil.rmtree(job.checkpoint, ignore_errors=True)
    SqliteLog(history.path).rewind(job.consumer, start)


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
