"""Changes typed and reduced by Arrow: cut anywhere, they leave what plain Python leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.event import (
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    TableId,
    encode_row,
    event_ids,
)
from headwater.event.verbatim import Verbatim, value_of
from headwater.spark.source.typed import changes_of, departures, latest, typed_rows
from headwater.spark.source.typed_read import GONE, SEQUENCE, Told

TABLE = TableId("shop", "parts")
KEY = ("a", "b")
TOLD: Told = {"n": SEQUENCE, "gone": GONE}
SCHEMA = pa.schema(
    [
        *(("a", pa.int64()), ("b", pa.string()), ("x", pa.float64())),
        *(("n", pa.int64()), ("gone", pa.bool_())),
    ]
)
DYNAMIC = LogicalType(Kind.DYNAMIC)
KEPT = Verbatim({"b": DYNAMIC})
Row = dict[str, Any]
Change = tuple[Operation, Row | None, Row | None]


@st.composite
def histories(draw: st.DrawFn) -> list[Change]:
    """Changes of few keys, so that rows come, go and move onto each other's old places."""
    told: list[Change] = []
    keys = st.tuples(st.integers(0, 2), st.sampled_from(["", "é\n", "7"]))
    rows: set[tuple[int, str]] = set()
    for _ in range(draw(st.integers(1, 25))):
        a, b = draw(keys)
        row = {"a": a, "b": b, "x": draw(st.sampled_from([None, 0.5, -1e300]))}
        if (a, b) not in rows:
            told.append((draw(st.sampled_from([Operation.INSERT, Operation.READ])), None, row))
            rows.add((a, b))
            continue
        to = draw(keys)
        match draw(st.sampled_from(["delete", "update", "silent", "move"])):
            case "delete":
                told.append(
                    (Operation.DELETE, draw(st.sampled_from([row, {"a": a, "b": b}])), None)
                )
                rows.discard((a, b))
            case "move" if to not in rows:
                told.append((Operation.UPDATE, row, {**row, "a": to[0], "b": to[1]}))
                rows.symmetric_difference_update({(a, b), to})
            case "silent":
                told.append((Operation.UPDATE, None, row))
            case _:
                told.append((Operation.UPDATE, row, row | {"x": 7.25}))
    return told


def _batch(told: Sequence[Change], first: int) -> EventBatch:
    offsets = [str(first + place) for place in range(len(told))]
    return EventBatch.from_columns(
        {
            "event_id": event_ids("typed", offsets),
            "op": [int(op) for op, _, _ in told],
            "source_name": "x",
            "offset": offsets,
            "source_ts_ms": 0,
            "ts_ms": 0,
            "table_schema": TABLE.schema,
            "table_name": TABLE.name,
            "before": [None if row is None else encode_row(row) for _, row, _ in told],
            "after": [None if row is None else encode_row(row) for _, _, row in told],
        }
    ).with_sequence(first)


def _reduced(part: list[Change], first: int) -> list[Row]:
    """What a task hands to Spark of its share."""
    events = changes_of(_batch(part, first), TABLE)
    rows = typed_rows(events, SCHEMA, TOLD, KEPT)
    left = departures(events, rows, TOLD, [*KEY], KEPT)
    table = pa.Table.from_batches([rows] if left is None else [rows, left])
    kept: list[Row] = latest(table, KEY, "n").to_pylist()
    return [row | {"b": value_of(row["b"], DYNAMIC)} for row in kept]


@given(histories(), st.lists(st.integers(1, 24), max_size=2))
def test_last_of_every_key_is_kept_whichever_tasks_share_the_range(
    told: list[Change], cuts: list[int]
) -> None:
    ends = sorted({0, len(told), *(cut for cut in cuts if cut < len(told))})
    kept = [row for begin, end in pairwise(ends) for row in _reduced(told[begin:end], begin + 1)]
    last = {}
    for row in sorted(kept, key=lambda each: (each["n"], not each["gone"])):
        last[row["a"], row["b"]] = row
    expected: dict[tuple[int, str], Row] = {}
    for _, before, after in told:
        if before is not None:
            expected.pop((before["a"], before["b"]), None)
        if after is not None:
            expected[after["a"], after["b"]] = after
    found = {
        key: {name: row[name] for name in ("a", "b", "x")}
        for key, row in last.items()
        if not row["gone"]
    }
    assert found == expected


def test_events_of_other_tables_and_about_no_row_are_left_out() -> None:
    told: list[Change] = [(Operation.INSERT, None, {"a": 1, "b": "", "x": None})] * 4
    batch = _batch(told, 1)
    columns = {name: batch.column(name) for name in batch.records.schema.names}
    mixed = EventBatch.from_columns(
        columns
        | {
            "op": [int(Operation.INSERT), int(Operation.TRUNCATE), *[int(Operation.INSERT)] * 2],
            "table_schema": ["shop", "shop", None, "shop"],
            "table_name": ["parts", "parts", "parts", "others"],
        }
    )
    assert changes_of(mixed, TABLE).column("sequence_number").to_pylist() == [1]
