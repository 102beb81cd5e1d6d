"""Typed rows of a real PostgreSQL: what the source captured comes back as it was captured."""

from __future__ import annotations

from headwater import formats
from headwater.event import EventBatch, Operation
from headwater.testing.conformance.format import envelope
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import streaming

_COLUMNS = {
    "id": ("bigint PRIMARY KEY", "1"),
    "small": ("smallint NOT NULL", "-32768"),
    "single": ("real", "0.1"),
    "huge": ("double precision", "'-Infinity'"),
    "price": ("numeric(20,4) NOT NULL", "1234567890123456.7891"),
    "free": ("numeric", "'NaN'"),
    "flag": ("boolean", "true"),
    "Full name": ("text", "'naïve ✓ 🐘'"),
    "data": ("bytea", "'\\x00ff10'"),
    "day": ("date", "'1969-02-28'"),
    "at": ("time", "'23:59:59.999999'"),
    "zoned": ("timetz", "'12:30+02'"),
    "local": ("timestamp", "'1999-12-31 23:59:59.000001'"),
    "moment": ("timestamptz", "'2026-02-28 12:00+05:30'"),
    "span": ("interval", "'1 year -3 days'"),
    "uid": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    "doc": ("jsonb NOT NULL", "'null'"),
    "numbers": ("numeric(10,2)[]", "'{1.50,NULL}'"),
    "address": ("inet", "'192.168.0.1/24'"),
    "body": ("text", "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i)"),
}


def test_rows_come_back_when_postgresql_captured_them(
    postgres_database: PostgresDatabase,
) -> None:
    names = ", ".join(f'"{name}" {kind}' for name, (kind, _) in _COLUMNS.items())
    values = ", ".join(value for _, value in _COLUMNS.values())
    postgres_database.sql(f"CREATE TABLE typed ({names})")
    with streaming(postgres_database) as capture:
        postgres_database.sql(f"INSERT INTO typed VALUES ({values})")
        postgres_database.sql("UPDATE typed SET small = 7")
        postgres_database.sql("ALTER TABLE typed ADD COLUMN later date; UPDATE typed SET small = 8")
        postgres_database.sql("DELETE FROM typed; TRUNCATE typed")
        events = capture.until(6)
        history = capture.log.reader()
        batch = EventBatch.from_events(events)
        records = formats.encode(batch, "headwater-avro-typed", schemas=history)
        back = formats.decode(records, "headwater-avro-typed", schemas=history)
    assert envelope(back) == envelope(batch)
    update = next(event for event in events if event.op is Operation.UPDATE)
    assert update.unavailable_columns == ("body",)  # a part of a row was among them
