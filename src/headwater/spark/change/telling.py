"""What stored batches tell of tables, counted by Arrow: the driver need not ask Spark for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, TableId
from headwater.spark.change.contents import Told

_GROUP = ("table_schema", "table_name", "schema_id", "no_rows")
_COUNTED = (
    ("sequence_number", "min"),
    ("sequence_number", "max"),
    ("sequence_number", "count"),
    ("truncated_at", "max"),
    ("unsent", "max"),
    ("moving", "sum"),
    ("carrying", "sum"),
    ("reads", "sum"),
    ("source_ts_ms", "max"),
)


def told_in(batches: Iterable[EventBatch], *, drops: bool = False) -> list[Told]:
    """What the batches tell together, of each table and shape, and if `drops` of tables that went.

    Those are looked for in what statements left behind, row by row.
    """
    return together(told for batch in batches for told in _with_drops(batch, drops=drops))


def together(parts: Iterable[Told]) -> list[Told]:
    """What parts of a range tell, as one."""
    found: dict[tuple[TableId, int, bool], Told] = {}
    for told in parts:
        key = (told.table, told.schema_id, told.no_rows)
        before = found.get(key)
        found[key] = told if before is None else _both(before, told)
    return list(found.values())


def _with_drops(batch: EventBatch, *, drops: bool) -> Iterator[Told]:
    yield from _of(batch)
    if drops:
        yield from _dropped(batch)


def _dropped(batch: EventBatch) -> Iterator[Told]:
    is_ddl = pc.equal(batch.column("op"), int(Operation.SCHEMA_CHANGE))
    if not pc.any(is_ddl).as_py():
        return
    told = batch.filter(is_ddl)
    names = ("after", "sequence_number", "source_ts_ms")
    for image, sequence, ts_ms in zip(
        *(told.column(name).to_pylist() for name in names), strict=True
    ):
        statement = json.loads(image)
        if statement.get("ddl_type") == "DROP_TABLE":
            table = TableId(statement["schema"], statement["table"])
            yield Told(
                table=table,
                schema_id=0,
                no_rows=False,
                first=sequence,
                last=sequence,
                events=0,
                truncated_at=None,
                unsent=0,
                moving=0,
                carrying=0,
                reads=0,
                committed_at_us=ts_ms * 1000,
                dropped=True,
            )


def _of(batch: EventBatch) -> Iterator[Told]:
    op = batch.column("op")
    sequence = batch.column("sequence_number")
    unsent = pc.fill_null(pc.list_value_length(batch.column("unavailable_columns")), 0)
    updates = pc.equal(op, int(Operation.UPDATE))
    moving = pc.and_(updates, pc.is_valid(batch.column("before")))
    apart = pa.array([int(Operation.SCHEMA_CHANGE), int(Operation.MESSAGE)], op.type)
    truncates = pc.equal(op, int(Operation.TRUNCATE))
    columns = {
        "table_schema": batch.column("table_schema"),
        "table_name": batch.column("table_name"),
        "schema_id": batch.column("schema_id"),
        "no_rows": pc.is_in(op, apart),
        "sequence_number": sequence,
        "truncated_at": pc.if_else(truncates, sequence, pa.scalar(None, pa.int64())),
        "unsent": unsent,
        "moving": moving,
        "carrying": pc.and_(moving, pc.greater(unsent, 0)),
        "reads": pc.equal(op, int(Operation.READ)),
        "source_ts_ms": batch.column("source_ts_ms"),
    }
    for row in pa.table(columns).group_by(_GROUP).aggregate(list(_COUNTED)).to_pylist():
        yield Told(
            table=TableId(row["table_schema"], row["table_name"]),
            schema_id=row["schema_id"],
            no_rows=row["no_rows"],
            first=row["sequence_number_min"],
            last=row["sequence_number_max"],
            events=row["sequence_number_count"],
            truncated_at=row["truncated_at_max"],
            unsent=row["unsent_max"],
            moving=row["moving_sum"],
            carrying=row["carrying_sum"],
            reads=row["reads_sum"],
            committed_at_us=row["source_ts_ms_max"] * 1000,
        )


def _both(before: Told, after: Told) -> Told:
    truncates = [each for each in (before.truncated_at, after.truncated_at) if each is not None]
    return replace(
        before,
        first=min(before.first, after.first),
        last=max(before.last, after.last),
        events=before.events + after.events,
        truncated_at=max(truncates, default=None),
        unsent=max(before.unsent, after.unsent),
        moving=before.moving + after.moving,
        carrying=before.carrying + after.carrying,
        reads=before.reads + after.reads,
        committed_at_us=max(before.committed_at_us, after.committed_at_us),
    )
