"""What a batch tells of tables that went, and in which modes tables without a key are kept."""

from dataclasses import replace

import pytest

from headwater.app.config.spark import SparkSettings
from headwater.app.spark import TableJob
from headwater.errors import ConfigError
from headwater.event import EventBatch, Operation, TableId, TableSchema, encode_row
from headwater.spark.change.changes import Moment
from headwater.spark.change.contents import gathered
from headwater.spark.change.telling import told_in
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import OnNoKey, TablePolicy
from headwater.testing.builders import ITEMS, TS_MS, inserts

KEYLESS = replace(ITEMS, table=TableId(None, "keyless"), primary_key=())


class History:
    """Implements SchemaHistory."""

    def __init__(self, *shapes: TableSchema) -> None:
        self._shapes = shapes

    def schema(self, schema_id: int) -> TableSchema:
        return next(each for each in self._shapes if each.schema_id == schema_id)

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        return tuple(enumerate(self._shapes, start=1))


def _dropped(sequence: int, kind: str, table: str) -> EventBatch:
    image = encode_row({"ddl_type": kind, "schema": None, "table": table})
    events = EventBatch.from_columns(
        {
            "op": [int(Operation.SCHEMA_CHANGE)],
            "source_name": "scripted",
            "source_ts_ms": TS_MS + sequence,
            "table_name": f"{table}__ddl_events",
            "after": image,
        }
    )
    return events.with_sequence(sequence)


def test_a_drop_is_told_of_its_table_and_of_no_other() -> None:
    batches = [
        inserts(1, 2).with_sequence(1),
        _dropped(3, "ALTER_TABLE", "items"),
        _dropped(4, "DROP_TABLE", "items"),
        _dropped(5, "DROP_TABLE", "never_captured"),
    ]
    history = History(ITEMS, KEYLESS)
    (changes,) = gathered(told_in(batches, drops=True), history, 0, 5).tables
    assert (changes.table, changes.events) == ("items", 2)
    assert changes.dropped == Moment(4, (TS_MS + 4) * 1000)
    assert (changes.floor(0), changes.emptied(3), changes.emptied(4)) == (4, True, False)
    (changes,) = gathered(told_in(batches), history, 0, 5).tables
    assert changes.dropped is None
    (alone,) = gathered(told_in(batches[2:], drops=True), history, 3, 5).tables
    assert (alone.schema, alone.events, alone.emptied(3)) == (ITEMS, 0, True)


def test_first_shape_decides_whether_a_table_has_a_key() -> None:
    lost = replace(ITEMS, primary_key=())
    found = replace(KEYLESS, primary_key=("id",))
    history = History(ITEMS, KEYLESS, lost, found)
    chosen: dict[OnNoKey, tuple[Mode, ...]] = {
        "refuse": ("mirror",),
        "append_log": ("append_log",),
        "skip": (),
    }
    for policy, modes in chosen.items():
        known = Modes(on_no_key=policy).knowing(history)
        assert (known.of(ITEMS.table), known.of(KEYLESS.table)) == (("mirror",), modes)
    named = Modes("scd2", {"append_log": ["key*"], "mirror": ["*"]}, "skip").knowing(history)
    assert named.of(KEYLESS.table) == ("append_log",)
    assert named.of(ITEMS.table) == ("mirror",)


@pytest.mark.parametrize("wrong", ["on_truncate", "on_drop", "on_no_key"])
def test_misspelt_policy_is_named(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"spark-policy.*'sometimes' is none of"):
        TablePolicy(**{wrong: "sometimes"})  # type: ignore[arg-type]


def test_parquet_has_no_policy_for_tables() -> None:
    with pytest.raises(ConfigError, match="spark-policy"):
        TableJob("x.hwlog", "/x", "parquet", table_policy=TablePolicy("ignore"))
    chosen = {"target": "x", "table_format": "parquet", "on_drop_table": "empty"}
    with pytest.raises(ValueError, match="leave on_truncate"):
        SparkSettings.model_validate(chosen)
    settings = SparkSettings.model_validate(
        {"target": "x", "on_truncate": "ignore", "on_drop_table": "empty", "on_no_key": "skip"}
    )
    assert settings.as_table_policy() == TablePolicy("ignore", "empty", "skip")
