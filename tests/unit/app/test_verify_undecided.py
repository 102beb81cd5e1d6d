"""Tables that cannot be compared: each is named with its reason, and the others are proven."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.app.proof.result import as_result
from headwater.app.proof.target import TargetTable
from headwater.app.proof.verifier import Proof
from headwater.contract import SourceBatch
from headwater.errors import ConfigError, HeadwaterError, MachineError, TransientError
from headwater.event import (
    Column,
    EventBatch,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    event_ids,
)
from headwater.event.verbatim import Image
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY
from tests.unit.app.sides import SourceAt, Target, verify

DEEP = '{"id":1,"v":' + "[" * 100_000 + "]" * 100_000 + "}"


def table(name: str, kind: str = "json") -> TableSchema:
    columns = (
        Column("id", LogicalType.parse("int64"), nullable=False, number=1),
        Column("v", LogicalType.parse(kind), number=2),
    )
    return TableSchema(TableId(None, name), columns, ("id",))


GOOD, BAD = table("good"), table("bad")
LOADING = TransientError("spark-table-loading", "table bad is still being loaded")
KEY = ConfigError("spark-key-changed", "the table has no column id")


class Images(SourceAt):
    """A source whose rows are images; `opened` counts how often a table was read."""

    opened = 0

    def __init__(self, sequence: int | None, texts: dict[str, list[str]]) -> None:
        super().__init__(sequence, {name: [] for name in texts})
        self.texts = texts

    def images(self, table: TableId) -> Iterator[Image]:  # type: ignore[override]
        self.opened += 1
        return iter(self.texts[table.name])


class Failing(Target):
    """A target of which some tables cannot be read, or only at first sight."""

    def __init__(
        self,
        sequence: int,
        tables: dict[str, list[dict[str, Any]]],
        errors: dict[str, HeadwaterError],
    ) -> None:
        super().__init__(sequence, tables)
        self._errors = errors

    def table(self, schema: TableSchema) -> TargetTable | None:
        if schema.table.name in self._errors:
            raise self._errors[schema.table.name]
        return super().table(schema)


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    """An event of each table; that of `bad` has an image that nobody can read."""
    log = SqliteLog.create(tmp_path / "x.hwlog")
    offsets = ["1", "2"]
    events = EventBatch.from_columns(
        {
            "event_id": event_ids("uid", offsets),
            "op": int(Operation.INSERT),
            "source_name": "scripted",
            "offset": offsets,
            "source_ts_ms": 1,
            "ts_ms": 1,
            "table_name": ["bad", "good"],
            "primary_key": ["id"],
            "schema_id": [BAD.schema_id, GOOD.schema_id],
            "after": [DEEP, '{"id":1,"v":{}}'],
        }
    )
    writer = log.writer(IDENTITY)
    writer.append(SourceBatch(events, Position({"n": 1}), (BAD, GOOD)))
    writer.close()
    return log


def reasons(proof: Proof) -> dict[str, str]:
    return {each.table: each.reason.code for each in proof.undecided}


ONE = {"good": ['{"id":1,"v":{}}'], "bad": ['{"id":1,"v":{}}']}
ROWS: dict[str, list[dict[str, Any]]] = {
    "good": [{"id": 1, "v": "{}"}],
    "bad": [{"id": 1, "v": "{}"}],
}
BOTH = (BAD, GOOD)


def test_other_tables_are_proven_when_a_source_row_cannot_be_read(log: SqliteLog) -> None:
    source = Images(2, ONE | {"bad": [DEEP]})
    proof = verify(log, Target(2, ROWS), source, BOTH)
    assert [(each.table, each.equal) for each in proof.tables] == [("good", True)]
    assert reasons(proof) == {"bad": "event-invalid"}
    assert not proof.equal


def test_other_tables_are_proven_when_an_event_cannot_be_read(log: SqliteLog) -> None:
    proof = verify(log, Target(0, {"good": [], "bad": []}), Images(2, ONE), BOTH)
    assert [(each.table, each.equal) for each in proof.tables] == [("good", True)]
    assert reasons(proof) == {"bad": "event-invalid"}


@pytest.mark.parametrize("error", [LOADING, KEY])
def test_other_tables_are_proven_when_a_target_cannot_be_read(
    log: SqliteLog, error: HeadwaterError
) -> None:
    proof = verify(log, Failing(2, ROWS, {"bad": error}), Images(2, ONE), BOTH)
    assert [(each.table, each.equal) for each in proof.tables] == [("good", True)]
    assert reasons(proof) == {"bad": error.code}
    assert not proof.equal


def test_proof_ends_when_the_machine_is_what_fails(log: SqliteLog) -> None:
    error = MachineError("spark-no-build", "no build")
    with pytest.raises(MachineError):
        verify(log, Failing(2, ROWS, {"bad": error}), Images(2, ONE), BOTH)


def test_nothing_is_read_when_no_table_can_be_compared(log: SqliteLog) -> None:
    source = Images(None, ONE)
    proof = verify(log, Failing(2, ROWS, {"bad": LOADING, "good": LOADING}), source, BOTH)
    assert not source.opened
    assert not proof.equal
    assert reasons(proof) == {"bad": "spark-table-loading", "good": "spark-table-loading"}
    assert as_result(proof)["summary"] == "none of 2 tables could be compared"


def test_load_is_named_when_the_source_has_not_handed_it_on_to_the_log(log: SqliteLog) -> None:
    with pytest.raises(TransientError, match="spark-table-loading"):
        verify(log, Failing(2, ROWS, {"bad": LOADING}), Images(None, ONE), BOTH)
    with pytest.raises(TransientError, match="verify-timeout"):
        verify(log, Failing(2, ROWS, {"bad": KEY}), Images(None, ONE), BOTH)


def test_no_moment_is_asked_for_when_no_source_row_could_be_read(log: SqliteLog) -> None:
    proof = verify(log, Target(2, ROWS), Images(None, {"bad": [DEEP]}), (BAD,))
    assert reasons(proof) == {"bad": "event-invalid"}


def test_row_that_is_not_of_its_column_s_type_differs_and_ends_nothing(log: SqliteLog) -> None:
    target = Target(2, {"blobs": [{"id": 1, "v": "AA=="}]})
    source = Images(2, {"blobs": ['{"id":1,"v":5}']})
    proof = verify(log, target, source, (table("blobs", "binary"),))
    assert proof.tables[0].differences.different == ('{"id":1}',)


def test_integer_of_many_digits_in_json_is_compared_digit_for_digit(log: SqliteLog) -> None:
    for first, equal in (("9", True), ("8", False)):
        target = Target(2, {"good": [{"id": 1, "v": first + "9" * 5_000}]})
        source = Images(2, {"good": ['{"id":1,"v":9' + "9" * 5_000 + "}"]})
        assert verify(log, target, source, (GOOD,)).equal is equal
