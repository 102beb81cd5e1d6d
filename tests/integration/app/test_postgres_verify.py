"""The proof of equality on a PostgreSQL server that several sessions write meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.app.config import parse_config
from headwater.app.pipeline import Pipeline
from headwater.app.proof.encoding import Encoder
from headwater.app.proof.prove import source_rows, verified
from headwater.app.proof.target import TargetTable
from headwater.app.proof.verifier import Bounds, Proof, Verifier
from headwater.app.source_tables import source_tables
from headwater.contract import LogReader
from headwater.errors import TransientError
from headwater.event import (
    Delete,
    Merge,
    Replace,
    TableId,
    TableSchema,
    Truncate,
    decode_row,
    row_write,
)
from headwater.observe import SystemClock
from tests.fix_postgres import PostgresDatabase
from tests.held import held

TABLES = ("public.accounts", "sales.orders")
ODD = """
CREATE TABLE odd (
    id int PRIMARY KEY, small smallint, big bigint, exact numeric(20,4), single real, double float8,
    flag boolean, words text, bytes bytea, day date, clock time, local timestamp,
    moment timestamptz, span interval, ident uuid, doc jsonb, list int[], texts text[],
    address inet,
    twice int GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO odd VALUES
    (1, -1, 9223372036854775807, 1.5000, 0.1, 'NaN', true, E'tab\\t"quote" \\\\N naïve', '\\x00ff',
     '2026-02-03', '04:05:06.7', '0044-03-15 BC', '2026-02-03 04:05:06+02', '1 day 2 hours',
     '6f1c0000-0000-0000-0000-000000000001', '{"b": [1, null], "a": "\\u00e9"}',
     '{{1,2},{3,NULL}}', '{"a,b",NULL,""}', '10.0.0.1/8'),
    (2, NULL, NULL, NULL, 'Infinity', -0.0, NULL, '', '', 'infinity', NULL, NULL, NULL, NULL, NULL,
     NULL, '[2:3]={7,8}', '{}', NULL);
"""


class Replayed:
    """A target that has applied the log up to a sequence number: the simplest correct one."""

    def __init__(self, reader: LogReader, sequence: int) -> None:
        self._sequence = sequence
        self.tables: dict[str, dict[str, dict[str, Any]]] = {}
        for batch in reader.read(0, sequence):
            for event, image in zip(batch, batch.column("after").to_pylist(), strict=True):
                rows = self.tables.setdefault(str(event.table_id), {})
                kept = Encoder(reader.schema(event.schema_id)).row
                match row_write(replace(event, after=image and kept(image))):
                    case Replace(key=key, row=row, moved_from=moved_from):
                        rows.pop(str(moved_from), None)
                        rows[str(key)] = row
                    case Merge(key=key, columns=columns, moved_from=moved_from):
                        rows[str(key)] = rows.pop(str(moved_from or key)) | columns
                    case Delete(key=key):
                        rows.pop(str(key), None)
                    case Truncate():
                        rows.clear()
                    case other:
                        pytest.fail(f"unexpected {other}")

    def table(self, schema: TableSchema) -> TargetTable | None:
        return held(schema, self._sequence, self.tables.get(str(schema.table), {}).values())


def pipeline_of(database: PostgresDatabase, directory: Path, tables: str) -> Pipeline:
    text = (
        f"version: 1\nname: {database.name}\n"
        f"source: {{url: '${{URL}}', tables: [{tables}]}}\nlog: {{path: shop.hwlog}}\n"
    )
    database.sql(
        f"CREATE PUBLICATION headwater_{database.name} FOR TABLE ONLY "
        f"{tables.replace(',', ', ONLY ')} WITH (publish_via_partition_root)"
    )
    return Pipeline(parse_config(text, directory / "shop.yaml", {"URL": database.dsn()}))


@pytest.fixture
def pipeline(postgres_database: PostgresDatabase, tmp_path: Path) -> Pipeline:
    postgres_database.sql(
        "CREATE SCHEMA sales; GRANT USAGE ON SCHEMA sales TO capture;"
        "CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL, note text);"
        # Where it is stored apart, updates that leave it alone do not tell it.
        "ALTER TABLE accounts ALTER note SET STORAGE EXTERNAL;"
        "CREATE TABLE sales.orders (id int GENERATED ALWAYS AS IDENTITY, day int, PRIMARY KEY (id))"
        " PARTITION BY RANGE (id);"
        "CREATE TABLE sales.orders_1 PARTITION OF sales.orders FOR VALUES FROM (0) TO (100);"
        "CREATE TABLE sales.orders_2 PARTITION OF sales.orders FOR VALUES FROM (100) TO (1000000);"
        "INSERT INTO accounts SELECT n, 100, CASE WHEN n % 3 > 0 THEN repeat('long', 800) END"
        " FROM generate_series(1, 20) n"
    )
    return pipeline_of(postgres_database, tmp_path, ",".join(TABLES))


def prove(pipeline: Pipeline, behind: int = 0, target: Replayed | None = None) -> Proof:
    reader = pipeline.log.reader()
    try:
        head = reader.bounds().head
        at = target or Replayed(reader, max(head - behind, 0))
        known = {schema.table: schema for _, schema in reader.schemas()}
        chosen = [known[table] for table in source_tables(pipeline.config) if table in known]
        verifier = Verifier(reader, at, clock=SystemClock(), bounds=Bounds(30))
        return verified(verifier, chosen, source_rows(pipeline.config, pipeline.log))
    finally:
        reader.close()


@contextmanager
def writers(database: PostgresDatabase, count: int) -> Iterator[threading.Event]:
    """Sessions that move money between rows, so that commits race for the same moment."""
    stop = threading.Event()

    def write(seed: int) -> None:
        dice = random.Random(seed)
        with database.connect() as db:
            # Faster ones would make a log that takes ever longer to replay, the more so the busier
            # the machine is.
            while not stop.wait(0.01):
                one, other = sorted(dice.sample(range(1, 21), 2))
                with db.transaction():
                    db.execute("UPDATE accounts SET balance = balance - 1 WHERE id = %s", (one,))
                    db.execute("UPDATE accounts SET balance = balance + 1 WHERE id = %s", (other,))
                    db.execute("INSERT INTO sales.orders (day) VALUES (%s)", (seed,))
                    if dice.random() < 0.2:
                        db.execute("DELETE FROM sales.orders WHERE id %% 7 = %s", (seed,))
                        note = f"{dice.random()}" * 200
                        db.execute("UPDATE accounts SET note = %s WHERE id = %s", (note, one))

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_proof_holds_when_several_sessions_write_meanwhile(
    pipeline: Pipeline, postgres_database: PostgresDatabase
) -> None:
    proofs: list[Proof] = []
    give_up = time.monotonic() + 120

    def on_tick(running: Pipeline) -> None:
        assert time.monotonic() < give_up
        facts: dict[str, Any] = running.status()
        if len(proofs) == 8:
            running.drain()
        elif facts["capture"]["caught_up"] and facts["log"]["head"] > 50:
            proofs.append(prove(running, behind=30))

    with writers(postgres_database, 4):
        pipeline.run(on_tick=on_tick)
    assert [proof.equal for proof in proofs] == [True] * 8
    assert {table.table for table in proofs[0].tables} == set(TABLES)
    assert sum(table.rolled_forward for proof in proofs for table in proof.tables) > 100
    assert len({proof.sequence for proof in proofs}) > 1, "the writers were at work meanwhile"


def test_proof_names_the_row_when_the_target_lost_a_change(pipeline: Pipeline) -> None:
    pipeline.run(once=True)
    assert prove(pipeline).equal
    reader = pipeline.log.reader()
    target = Replayed(reader, reader.bounds().head)
    reader.close()
    rows = target.tables["public.accounts"]
    rows["{'id': 3}"] = {**rows["{'id': 3}"], "balance": 1}
    (accounts,) = [each for each in prove(pipeline, 0, target).tables if not each.equal]
    assert accounts.differences.different == ('{"id":3}',)


def test_proof_holds_when_capture_is_at_rest_and_the_server_wrote_log_of_its_own(
    pipeline: Pipeline, postgres_database: PostgresDatabase
) -> None:
    pipeline.run(once=True)
    postgres_database.sql("CREATE TABLE others (id int); INSERT INTO others VALUES (1)")
    postgres_database.sql("CHECKPOINT", user="postgres")
    assert prove(pipeline).equal


def test_proof_waits_in_vain_when_a_change_is_not_captured_yet(
    pipeline: Pipeline, postgres_database: PostgresDatabase
) -> None:
    pipeline.run(once=True)
    postgres_database.sql("UPDATE accounts SET balance = 7 WHERE id = 1")
    reader = pipeline.log.reader()
    verifier = Verifier(reader, Replayed(reader, 20), clock=SystemClock(), bounds=Bounds(0.3))
    schemas = [schema for _, schema in reader.schemas()]
    with pytest.raises(TransientError) as caught:
        verified(verifier, schemas, source_rows(pipeline.config, pipeline.log))
    reader.close()
    assert caught.value.code == "verify-timeout"


def test_rows_have_capture_s_form_when_values_are_strange(
    postgres_database: PostgresDatabase, tmp_path: Path
) -> None:
    postgres_database.sql(ODD)
    pipeline = pipeline_of(postgres_database, tmp_path, "odd")
    pipeline.run(once=True)
    postgres_database.sql("UPDATE odd SET small = 5")
    pipeline = Pipeline(pipeline.config)
    pipeline.run(once=True)
    reader = pipeline.log.reader()
    captured = {
        event.after["id"]: event.after
        for batch in reader.read(0)
        for event in batch
        if event.after is not None
    }
    reader.close()
    with source_rows(pipeline.config, pipeline.log)() as source:
        found = list(map(decode_row, source.images(TableId("public", "odd"))))
    assert [captured[row["id"]] for row in found] == found
    assert "twice" not in found[0]
    assert prove(pipeline).equal
