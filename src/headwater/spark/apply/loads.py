"""New tables while their rows are being read: appended beside, completed, and switched in whole.

A table is loading from its first micro-batch until the log owes no rows of it. Rows of the snapshot
are appended to a generation as they come, without a look at those that are there; changes are kept.
When all rows are in, the changes go through the mode once, with the rows that they concern taken as
what they were: changes of their time. So it does not matter which came first.

The state is the generation itself. Every step carries its position or may be repeated, so a load
goes on where a crash left it. A table that stands is never loaded: its rows go through the mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from headwater.contract import TableHistory
from headwater.errors import TransientError
from headwater.event import TableId
from headwater.failpoint import failpoint
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.judge import heeded
from headwater.spark.apply.typed_reads import TypedReads
from headwater.spark.change.changes import Shape, TableChanges, others_of
from headwater.spark.change.contents import contents, drop_of
from headwater.spark.change.task import Task
from headwater.spark.mode.reading import (
    LOADED,
    as_changes,
    concerned,
    doubled,
    once,
    read_again,
    read_rows,
)
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import TablePolicy
from headwater.spark.source.frame import SPARK_DDL
from headwater.spark.table.layout import Layout
from headwater.spark.table.shape import columns_of
from headwater.spark.table.target import (
    Generation,
    Loadable,
    Loading,
    Standing,
    Taken,
    Target,
    Targets,
)

Way = Callable[[Target, Task, Standing], None]


class Loads:
    """The loads of one stream, those among them that an earlier process has begun."""

    def __init__(
        self,
        targets: Targets,
        history: TableHistory,
        evolution: Evolution,
        ways: Mapping[Mode, Way],
        typed: TypedReads,
        policy: TablePolicy,
    ) -> None:
        self._targets = targets
        self._history = history
        self._evolution = evolution
        self._ways = ways
        self._typed = typed
        self._policy = policy
        self._begun: set[tuple[str, Mode]] = set()
        self._looked = False

    def begun(self, table: TableId, mode: Mode) -> bool:
        """Whether a table is known to be loading."""
        return (str(table), mode) in self._begun

    def over(self, session: SparkSession, until: int, modes: Modes) -> list[tuple[TableId, Mode]]:
        """The tables whose load may be over at the end of a batch, seen from outside.

        A table that `modes` do not keep is another stream's: its events do not come here, so
        nothing is known of what its load still lacks.
        """
        if not self._looked and isinstance(self._targets, Loading):
            found = self._targets.loading(session)
            self._begun.update((str(table), mode) for table, mode in found)
        self._looked = True
        if not self._begun:
            return []
        kept = {(str(table), mode): table for table, mode in modes.known(self._history)}
        named = [(kept[each], each[1]) for each in sorted(self._begun & kept.keys())]
        return [each for each in named if not self._history.owes(each[0], until)]

    def take(self, table: Target, standing: Standing, task: Task, mode: Mode) -> Standing:
        """Take the batch into a load if the table is loading; where the table stands then.

        A load that goes on has all of the batch, though its table is not to be seen.
        """
        if standing.version is not None or mode not in LOADED or not isinstance(table, Loadable):
            return standing
        name = task.changes.schema.table
        generation = table.generation()
        taken = generation.taken()
        # A closed one has all its rows: what the source owes since is for the table to come.
        closed = taken is not None and taken.closed is not None
        owed = not closed and self._history.owes(name, task.until)
        if taken is None and not owed:
            return standing
        self._begun.add((str(name), mode))
        if not closed:
            self._add(generation, taken or Taken(0, 0), task, mode)
        if owed:
            return Standing(None, task.until)
        self.finish(table, name, mode, task.until)
        return table.standing()

    def finish(self, table: Target, name: TableId, mode: Mode, until: int) -> None:
        """Switch the table in if all of its rows have come; `until` is the end of the last batch.

        Does nothing but clear up if the table stands.
        """
        if not isinstance(table, Loadable):
            return
        generation = table.generation()
        taken = generation.taken()
        if taken is not None and table.standing().version is None:
            if taken.closed is None:
                if self._history.owes(name, max(until, taken.until)):
                    return
                generation.close(max(until, taken.until))
            generation.switch(self._completed(generation, name, mode))
        generation.clear()
        self._begun.discard((str(name), mode))

    def _completed(self, generation: Generation, name: TableId, mode: Mode) -> int:
        """Merge the kept changes into the rows, once; the position for which it was closed."""
        taken = generation.taken()
        until = 0 if taken is None else taken.until
        kept = generation.kept()
        changes = self._changes(generation, name, kept, mode)
        if generation.merging().standing().applied < until:
            self._merge(generation, mode, Task(_or_none(kept, generation), changes, until))
        # A row that was read again, or added by two drivers, stands twice. Merging needed both.
        if generation.is_distinct():
            return until
        rows = generation.rows()
        if not doubled(rows, changes, mode).isEmpty():
            generation.replace(once(rows, changes, mode), until)
        return until

    def _merge(self, generation: Generation, mode: Mode, ending: Task) -> None:
        rows, changes = generation.rows(), ending.changes
        once_only = mode != "scd2" or generation.is_distinct()
        again = None if once_only else read_again(rows, changes)
        told = changes.others_told or changes.dropped
        if not told and (again is None or again.isEmpty()):
            return
        reads = as_changes(concerned(rows, ending.frame, changes, again), changes)
        self._ways[mode](generation.merging(), replace(ending, reads=reads), Standing(None, 0))
        failpoint("spark.load.merged")

    def _changes(
        self, generation: Generation, name: TableId, kept: DataFrame | None, mode: Mode
    ) -> TableChanges:
        """What the kept events say; without any, only the columns that the rows have.

        Rows that were read after the last of these events may be in a newer shape, which the
        generation has followed since.
        """
        rows = generation.merging()
        schema = columns_of(rows.shape(), name)
        if kept is None:
            return TableChanges(name.name, schema, {}, partial=False, truncated_at=None)
        (told,) = contents(kept, self._history).tables
        changes = heeded(told, self._policy)
        shapes = (*changes.shapes, Shape(schema, changes.shapes[-1].last))
        return self._evolution.follow(rows, replace(changes, shapes=shapes), mode, 0)[0]

    def _add(self, generation: Generation, before: Taken, task: Task, mode: Mode) -> None:
        rows = generation.merging()
        changes, _ = self._evolution.follow(rows, task.changes, mode, before.rows)
        generation.prepare(changes.schema, LOADED[mode])
        if task.until > before.changes and (changes.others_told or changes.dropped):
            generation.keep(_kept_of(task, changes, before.changes), task.until)
        if changes.reads_told and task.until > before.rows:
            self._append(generation, replace(task, changes=changes), before.rows, LOADED[mode])
        after = generation.taken()
        if after is None or after.closed is not None:
            # Another driver has closed it, and may have gone without what was added just now.
            raise TransientError(
                "spark-load-overtaken",
                "another driver has finished the load meanwhile",
                where=f"table {changes.table}",
            )

    def _append(self, generation: Generation, task: Task, after: int, layout: Layout) -> None:
        """Add the rows that were read, typed by the source if it can."""
        session = task.frame.sparkSession
        try:
            folder = generation.folder()
            if folder is not None:
                files = self._typed.files(session, task.changes, layout, after, folder)
                if files is not None:
                    generation.add(files, task.until)
                    return
            typed = self._typed.rows(session, task.changes, layout, after)
            if typed is not None:
                generation.append(typed, task.until)
                return
        except Exception as exc:
            if not self._typed.refused(task.changes, exc):
                raise
        generation.append(read_rows(task, layout, after), task.until)


def _kept_of(task: Task, changes: TableChanges, after: int) -> DataFrame:
    """The batch's events for the end of a load; that the table went is one of them."""
    told = others_of(task.frame, changes, after)
    if changes.dropped is None:
        return told
    dropped = drop_of(task.frame.sparkSession, changes.shapes[-1].schema, changes.dropped)
    return told.unionByName(dropped)


def _or_none(kept: DataFrame | None, generation: Generation) -> DataFrame:
    session = generation.rows().sparkSession
    return session.createDataFrame([], SPARK_DDL) if kept is None else kept
