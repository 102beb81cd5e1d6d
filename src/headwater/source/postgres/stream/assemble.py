"""From gulps of messages to batches of events, whole transactions wherever they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, TableSchema, event_ids
from headwater.event.value import context_object
from headwater.failpoint import failpoint
from headwater.source.postgres.decode.pgoutput import (
    Control,
    Decoded,
    Decoder,
    LogicalMessage,
    StreamAbort,
    StreamCommit,
    StreamStart,
)
from headwater.source.postgres.decode.pgoutput.relations import Versions
from headwater.source.postgres.decode.pgoutput.single import Payload, read_control
from headwater.source.postgres.decode.transactions import OpenTransaction, Table
from headwater.source.postgres.events import (
    offset_texts,
    row_events,
    transaction_column,
    with_columns,
)
from headwater.source.postgres.shapes import Captured, Shapes
from headwater.source.postgres.stream import notices
from headwater.source.postgres.stream.mailbox import Gulp
from headwater.source.postgres.stream.spool import Spool
from headwater.source.postgres.stream.told import Notice, Told

_STOP = ord("E")
_IS_MARK = np.zeros(256, np.bool_)
_IS_MARK[np.frombuffer(b"SEcA", np.uint8)] = True

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Assembled:
    """Events in commit order. `lsn` is the end of the last transaction that ends with them.

    None means that the events are a piece of a transaction that goes on. `marks` are those of the
    shapes that the log knows with these events, and did not before.
    """

    events: EventBatch
    lsn: int | None
    schemas: tuple[TableSchema, ...]
    marks: Mapping[int, str] = field(default_factory=dict)


class Assembler:
    """Keeps what lasts from gulp to gulp: the open transaction, and those still in progress."""

    def __init__(
        self,
        uid: str,
        shapes: Shapes,
        spool: Spool,
        marks: Mapping[int, str],
        wants_message: Callable[[str], bool],
    ) -> None:
        self._uid = uid
        self._shapes = shapes
        self._spool = spool
        self._decoder = Decoder(shapes.shape)
        self._opened: OpenTransaction | None = None
        self._block: int | None = None
        self._told = Told(shapes, marks, wants_message)
        self._given: set[int] = set()

    @property
    def between_transactions(self) -> bool:
        """Whether everything received so far has been handed on as whole transactions."""
        return self._opened is None

    def assemble(self, gulp: Gulp, max_events: int) -> Iterator[Assembled]:
        """The events of a gulp, in runs of at most `max_events`."""
        tags = np.frombuffer(gulp.buffer, np.uint8)[gulp.starts]
        marks = np.flatnonzero(_IS_MARK[tags])
        if self._block is None and len(marks) == 0:
            yield from self._run(gulp.buffer, gulp.starts, gulp.ends, max_events)
            return
        place = 0
        for mark in marks:
            yield from self._stretch(gulp, place, int(mark), max_events)
            yield from self._marked(gulp, int(mark), int(tags[mark]), max_events)
            place = int(mark) + 1
        yield from self._stretch(gulp, place, len(tags), max_events)

    def _stretch(self, gulp: Gulp, begin: int, end: int, max_events: int) -> Iterator[Assembled]:
        """Messages between two marks: inside a block they are kept aside, outside they are ours."""
        if begin == end:
            return
        starts, ends = gulp.starts[begin:end], gulp.ends[begin:end]
        if self._block is not None:
            self._spool.add(self._block, gulp.buffer, starts, ends)
        else:
            yield from self._run(gulp.buffer, starts, ends, max_events)

    def _marked(self, gulp: Gulp, mark: int, tag: int, max_events: int) -> Iterator[Assembled]:
        starts, ends = gulp.starts[mark : mark + 1], gulp.ends[mark : mark + 1]
        if tag == _STOP:
            if self._block is not None:
                self._spool.add(self._block, gulp.buffer, starts, ends)
            self._block = None
            return
        match _mark(gulp, mark, tag):
            case StreamStart(xid=xid):
                self._block = xid
                self._spool.add(xid, gulp.buffer, starts, ends)
            case StreamAbort(xid=xid, subxid=subxid):
                self._spool.abort(xid, subxid)
            case StreamCommit() as commit:
                yield from self._committed(commit, max_events)
            case _:
                raise AssertionError("marks are these three")

    def _committed(self, commit: StreamCommit, max_events: int) -> Iterator[Assembled]:
        """A transaction that was kept aside has committed: now it is like any other."""
        self._opened = OpenTransaction(commit.xid, commit.commit_lsn, commit.commit_ms)
        for buffer, starts, ends in self._spool.take(commit.xid):
            yield from self._run(buffer, starts, ends, max_events)
        self._opened = None
        failpoint("source.postgres.spool_handed_on")
        empty = EventBatch.concat([])
        yield Assembled(empty, commit.end_lsn, ())

    def _run(
        self, buffer: bytes, starts: Numbers, ends: Numbers, max_events: int
    ) -> Iterator[Assembled]:
        decoded = self._decoder.decode(buffer, starts, ends)
        captured = [self._shapes.captured(relation) for relation in decoded.relations]
        table = Table.of(self._opened, decoded.begins, decoded.commits)
        told = list(self._told.notices(decoded.controls))
        records, place, numbered = self._records(decoded, captured, told, table)
        self._opened = self._carry(decoded, table, place, numbered)
        runs = _cut(records, place, table, self._fresh(captured), max_events)
        yield from self._marking(runs, numbered, told)

    def _marking(
        self, runs: Iterator[Assembled], numbered: npt.NDArray[np.bool_], told: Sequence[Notice]
    ) -> Iterator[Assembled]:
        """A shape is known with the very run that tells of it: else a crash loses or doubles it."""
        marks, begin = self._told.met(), 0
        shapes = (notice.shape for notice in told if notice.shape is not None)
        for run in runs:
            end = begin + len(run.events)
            noticed = islice(shapes, int(np.count_nonzero(~numbered[begin:end])))
            yield replace(run, marks=marks | dict(noticed))
            marks, begin = {}, end

    def _records(
        self,
        decoded: Decoded,
        captured: Sequence[Captured],
        told: Sequence[Notice],
        table: Table,
    ) -> tuple[pa.RecordBatch, Numbers, npt.NDArray[np.bool_]]:
        """Events in order, the transaction of each, and whether a replay is sure to have it."""
        rows = decoded.rows
        place = table.of_messages(rows.message)
        index = table.indexes(place)
        numbered = np.ones(len(place), np.bool_)
        numbers = table.numbers(place, numbered)
        records = row_events(self._uid, rows, captured, table, place, numbers)
        if told:
            records, place, index, numbered = self._merged(records, rows.message, told, table)
        records = with_columns(records, {"transaction": transaction_column(table, place, index)})
        records = self._with_context(records, decoded.controls, table, place)
        return records, place, numbered

    def _merged(
        self, records: pa.RecordBatch, messages: Numbers, told: Sequence[Notice], table: Table
    ) -> tuple[pa.RecordBatch, Numbers, Numbers, npt.NDArray[np.bool_]]:
        """Rows and notices in the order of their messages, numbered as one."""
        every = np.concatenate((messages, [notice.message for notice in told]))
        order = np.argsort(every, kind="stable")
        numbered = np.ones(len(every), np.bool_)
        numbered[len(messages) :] = [notice.shape is None for notice in told]
        numbered = numbered[order]
        joined = pa.concat_batches([records, *(notice.events.records for notice in told)])
        place = table.of_messages(every[order])
        offsets = offset_texts(table.commit_lsn, place, table.numbers(place, numbered))
        suffixes = pa.array([""] * len(messages) + [notice.suffix for notice in told])
        offsets = pc.binary_join_element_wise(offsets, suffixes.take(pa.array(order)), "")
        times = pa.array(table.commit_ms[place])
        columns = {
            "offset": offsets,
            "event_id": event_ids(self._uid, offsets.to_pylist()),
            "source_ts_ms": times,
            "ts_ms": times,
        }
        joined = with_columns(joined.take(pa.array(order)), columns)
        return joined, place, table.indexes(place), numbered

    def _with_context(
        self, records: pa.RecordBatch, controls: Sequence[Control], table: Table, place: Numbers
    ) -> pa.RecordBatch:
        """Every event of a transaction carries what the application said about it.

        What was handed on before the application spoke stays without: speak first.
        """
        contexts = self._contexts(controls, table)
        if not any(contexts):
            return records
        values = pa.array(contexts, pa.string()).take(pa.array(place))
        return with_columns(records, {"context": values})

    def _contexts(self, controls: Sequence[Control], table: Table) -> list[str | None]:
        contexts: list[str | None] = [None] * len(table)
        contexts[0] = None if self._opened is None else self._opened.context
        for control in controls:
            if isinstance(control, LogicalMessage) and control.prefix == notices.CONTEXT_PREFIX:
                (which,) = table.of_messages(np.array([control.message]))
                contexts[which] = context_object(control.content.decode("utf-8", "replace"))
        return contexts

    def _carry(
        self, decoded: Decoded, table: Table, place: Numbers, numbered: npt.NDArray[np.bool_]
    ) -> OpenTransaction | None:
        opened = table.still_open(self._opened)
        if opened is None:
            return None
        last = len(table) - 1
        inside = place == last
        return opened.later(
            int(np.count_nonzero(inside)),
            int(np.count_nonzero(inside & numbered)),
            self._contexts(decoded.controls, table)[last],
        )

    def _fresh(self, captured: Sequence[Captured]) -> tuple[TableSchema, ...]:
        """Schemas that the log has not been given yet since the source was opened."""
        fresh = [each for each in captured if each.schema_id not in self._given]
        self._given.update(each.schema_id for each in fresh)
        return tuple(each.schema for each in fresh)


def _mark(gulp: Gulp, mark: int, tag: int) -> Control:
    """A message about a transaction in progress, read apart from the decoder's state."""
    start, end = int(gulp.starts[mark]), int(gulp.ends[mark])
    return read_control(tag, Payload(gulp.buffer, start + 1, end, mark), 0, Versions({}))


def _cut(
    records: pa.RecordBatch,
    place: Numbers,
    table: Table,
    schemas: tuple[TableSchema, ...],
    max_events: int,
) -> Iterator[Assembled]:
    """Runs of at most `max_events` that end where a transaction ends, if any does.

    A transaction that ends here without an event may close pieces that went before: so the first
    run may be empty.
    """
    ended = table.end_lsn > 0
    # How many events there are up to the end of each transaction that ends here.
    borders = np.cumsum(np.bincount(place, minlength=len(table)))[ended]
    lsns = table.end_lsn[ended]
    begin, total, first = 0, records.num_rows, True
    while begin < total or first:
        fitting = int(np.searchsorted(borders, begin + max_events, side="right"))
        lsn: int | None = None
        if fitting and (first or borders[fitting - 1] > begin):
            end, lsn = int(borders[fitting - 1]), int(lsns[fitting - 1])
        elif begin < total:
            end = min(begin + max_events, total)
        else:
            return
        events = EventBatch(records.slice(begin, end - begin), lsn is not None)
        yield Assembled(events, lsn, schemas)
        schemas, begin, first = (), end, False
