"""The proof of equality on a real database that is written meanwhile."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.app.config import parse_config
from headwater.app.demo.shop import TABLES, create_shop
from headwater.app.demo.writer import write
from headwater.app.pipeline import Pipeline
from headwater.app.proof.encoding import Row
from headwater.app.proof.target import TargetTable
from headwater.app.proof.verifier import Bounds, Proof, Verifier
from headwater.app.sqlite_rows import sqlite_rows
from headwater.contract import LogReader
from headwater.event import Delete, Replace, TableId, TableSchema, Truncate, decode_row, row_write
from headwater.log import SqliteLog
from headwater.observe import SystemClock
from tests.held import held


class Replayed:
    """A target that has applied the log up to a sequence number: the simplest correct one."""

    def __init__(self, reader: LogReader, sequence: int) -> None:
        self._sequence = sequence
        self.tables: dict[str, dict[str, Row]] = {name: {} for name in TABLES}
        for batch in reader.read(0, sequence):
            for event in batch:
                if event.table not in self.tables:
                    continue
                rows = self.tables[event.table]
                match row_write(event):
                    case Replace(key=key, row=row, moved_from=moved_from):
                        rows.pop(str(moved_from), None)
                        rows[str(key)] = row
                    case Delete(key=key):
                        rows.pop(str(key), None)
                    case Truncate():
                        rows.clear()
                    case other:
                        pytest.fail(f"unexpected {other}")

    def table(self, schema: TableSchema) -> TargetTable | None:
        return held(schema, self._sequence, self.tables[schema.table.name].values())


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    create_shop(tmp_path / "shop.db", customers=30)
    text = "version: 1\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
    return Pipeline(parse_config(text, tmp_path / "shop.yaml", {}))


def prove(database: Path, log: SqliteLog, target: Replayed) -> Proof:
    reader = log.reader()
    try:
        schemas = {schema.table.name: schema for _, schema in reader.schemas()}
        verifier = Verifier(reader, target, clock=SystemClock(), bounds=Bounds(30))
        return verifier.verify(
            [schemas[name] for name in TABLES],
            lambda: sqlite_rows(database, lambda: log.info().position),
        )
    finally:
        reader.close()


def replayed(log: SqliteLog, sequence: int) -> Replayed:
    reader = log.reader()
    try:
        return Replayed(reader, sequence)
    finally:
        reader.close()


def test_proof_holds_when_the_writer_and_capture_go_on(tmp_path: Path, pipeline: Pipeline) -> None:
    database = tmp_path / "shop.db"
    proofs: list[Proof] = []
    behind: list[int] = []
    writer = subprocess.Popen(
        [sys.executable, "-m", "headwater.app.demo.writer", str(database), "6", "11"],
        stdout=subprocess.DEVNULL,
    )

    def on_tick(running: Pipeline) -> None:
        facts: dict[str, Any] = running.status()
        if facts["capture"]["caught_up"] and writer.poll() is None:
            head = facts["log"]["head"]
            sequence = max(head - 150, 0)
            behind.append(head - sequence)
            proofs.append(prove(database, running.log, replayed(running.log, sequence)))
        elif writer.poll() is not None:
            running.drain()

    pipeline.run(on_tick=on_tick)
    assert writer.wait() == 0
    assert len(proofs) >= 3
    assert all(proof.equal for proof in proofs)
    assert sum(table.rolled_forward for proof in proofs for table in proof.tables) > 0
    assert len({proof.sequence for proof in proofs}) > 1, "the writer was at work meanwhile"


def test_proof_names_the_row_when_the_target_lost_a_change(
    tmp_path: Path, pipeline: Pipeline
) -> None:
    database = tmp_path / "shop.db"
    write(database, 0.5, seed=3)
    pipeline.run(once=True)
    target = replayed(pipeline.log, pipeline.log.info().bounds.head)
    assert prove(database, pipeline.log, target).equal
    key, row = next(iter(target.tables["orders"].items()))
    target.tables["orders"][key] = {**row, "status": "forged"}
    proof = prove(database, pipeline.log, target)
    assert {table.table: table.equal for table in proof.tables} == {
        "customers": True,
        "products": True,
        "orders": False,
        "order_items": True,
    }
    (orders,) = [table for table in proof.tables if table.table == "orders"]
    assert orders.differences.different == (f'{{"id":{row["id"]}}}',)


def test_rows_have_capture_s_form_when_values_are_strange(tmp_path: Path) -> None:
    database = tmp_path / "odd.db"
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, a, b BLOB, c REAL, d TEXT)")
        db.execute("INSERT INTO odd VALUES (1, x'00ff', 'text in a blob', 9e999, x'c3')")
        db.execute("INSERT INTO odd VALUES (2, 9223372036854775807, x'', -0.0, 'naïve \u0001')")
        db.execute("INSERT INTO odd VALUES (3, NULL, NULL, NULL, CAST(x'ff' AS TEXT))")
    text = "version: 1\nsource: {url: 'sqlite:///odd.db'}\nlog: {path: odd.hwlog}\n"
    pipeline = Pipeline(parse_config(text, tmp_path / "odd.yaml", {}))
    pipeline.run(once=True)
    reader = pipeline.log.reader()
    captured = [event.after for batch in reader.read(0) for event in batch]
    with sqlite_rows(database, lambda: None) as source:
        assert list(map(decode_row, source.images(TableId(None, "odd")))) == captured
    reader.close()
