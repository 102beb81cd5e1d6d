"""Every built-in type: the stream, the snapshot and SELECT say the same. The server is the oracle.

Each value is captured twice, as a row that was there (snapshot) and as a row that came (stream),
and read back into its own type by the server, which compares it with what the table holds.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import psycopg
import pytest

from headwater.event import Operation
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import capturing, publish

# By type: literals, each in the form that the server reads. None of them is random.
SCALARS: dict[str, list[str]] = {
    "smallint": ["-32768", "0", "32767"],
    "integer": ["-2147483648", "7"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "numeric": [
        "NaN",
        "Infinity",
        "-Infinity",
        "0.10",
        "-1e-30",
        "123456789012345678901234567890.5",
    ],
    "numeric(20,4)": ["0", "1234567890123456.7891"],
    "real": ["NaN", "-Infinity", "1e-38", "3.4028235e38", "0.1", "-0"],
    "double precision": ["NaN", "Infinity", "1e15", "1e16", "5e-324", "0.1", "123456789.125"],
    "boolean": ["t", "f"],
    "text": [
        "",
        " x ",
        'quote " back \\ slash',
        "line\nbreak\ttab\rreturn",
        "naïve ✓ 🐘",
        "\x01\x1f",
    ],
    "varchar(10)": ["", "ten chars!"],
    "char(5)": ["ab", ""],
    '"char"': ["x", ""],
    "name": ["a_name"],
    "bytea": ["\\x", "\\x00ff10", "\\x" + "ab" * 1000],
    "date": ["2026-02-28", "0001-01-01", "infinity", "-infinity", "0044-03-15 BC", "12026-01-01"],
    "time": ["00:00", "23:59:59.999999", "12:30:00.5", "24:00"],
    "time with time zone": ["00:00+00", "23:59:59.999999-03:30"],
    "timestamp": [
        "2026-02-28 12:00",
        "1999-12-31 23:59:59.000001",
        "infinity",
        "0044-03-15 01:02 BC",
    ],
    "timestamptz": [
        "2026-02-28 12:00+05:30",
        "1969-12-31 23:59:59.5-08",
        "-infinity",
        "12026-01-01 0:0Z",
    ],
    "interval": ["0", "1 year 2 months -3 days 04:05:06.789", "-1 microsecond", "-100 years"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "json": ['{"b": 1,  "a": [true, null, 1.50]}', '"text"', "null", '{\n "a":\t1e400}'],
    "jsonb": ['{"b": 1, "a": [true, null, 1.50]}', "[]", '"\\u00e9\\n"', "null"],
    "inet": ["192.168.0.1/24", "::1"],
    "cidr": ["10.0.0.0/8"],
    "macaddr": ["08:00:2b:01:02:03"],
    "macaddr8": ["08:00:2b:01:02:03:04:05"],
    "bit(5)": ["10101"],
    "bit varying": ["", "1101"],
    "money": ["12.34", "-1000000.00"],
    "xml": ["<a b='1'>x &amp; y</a>"],
    "point": ["(1.5,-2)"],
    "line": ["{1,-1,0}"],
    "lseg": ["[(0,0),(1,1)]"],
    "box": ["(1,1),(0,0)"],
    "path": ["((0,0),(1,1),(2,0))"],
    "polygon": ["((0,0),(1,1),(2,0))"],
    "circle": ["<(1,2),3>"],
    "tsvector": ["'a':1 'fat':2,4"],
    "tsquery": ["'fat' & 'rat'"],
    "pg_lsn": ["16/B374D848"],
    "int4range": ["empty", "[1,5)", "(,)"],
    "numrange": ["[1.5,2.5]"],
    "tstzrange": ['["2026-01-01 00:00+00","2026-02-01 00:00+00")'],
    "int4multirange": ["{}", "{[1,3),[5,8)}"],
    "mood": ["sad", 'so, so "happy"'],
    "positive": ["42"],
    "pair": ['(1,"a, b")', "(,)"],
}
ARRAYS: dict[str, list[str]] = {
    "integer[]": ["{}", "{1,-2,NULL}", "{{1,2},{3,4}}"],
    "bigint[]": ["{9223372036854775807}"],
    "text[]": ["{}", '{a,"b c","","NULL",NULL,"q\\"\\\\"}', '{{"x,y"},{"{}"}}'],
    "boolean[]": ["{t,f,NULL}"],
    "numeric[]": ["{1.50,NaN}"],
    "double precision[]": ["{0.1,Infinity}"],
    "timestamptz[]": ['{"2026-01-01 00:00:00+00",NULL}'],
    "bytea[]": ['{"\\\\x00ff"}'],
    "uuid[]": ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"],
    "jsonb[]": ['{"{\\"a\\": 1}"}'],
    "mood[]": ["{sad}"],
    "box[]": ["{(1,1),(0,0);(2,2),(0,0)}"],
}
RANDOM = {
    "numeric": "((random() - 0.5) * 10 ^ (random() * 30)::int)::numeric",
    "double precision": "(random() - 0.5) * 10 ^ (random() * 600 - 300)",
    "real": "((random() - 0.5) * 10 ^ (random() * 60 - 30))::real",
    "bigint": "((random() - 0.5) * 2 ^ 63)::bigint",
    "timestamptz": "timestamptz '2000-01-01' + (random() - 0.5) * interval '400 years'",
    "timestamp": "timestamp '2000-01-01' + (random() - 0.5) * interval '3000 years'",
    "date": "date '2000-01-01' + ((random() - 0.5) * 1000000)::int",
    "time": "time '00:00' + random() * interval '24 hours'",
    "interval": "(random() - 0.5) * interval '999 days' + (random() * 9)::int * interval '1 month'",
    "text": "(SELECT string_agg(chr((1 + random() * 767)::int), '')"
    " FROM generate_series(1, g % 40))",
    "bytea": "decode(repeat(md5(random()::text), g % 5), 'hex')",
    "uuid": "md5(random()::text)::uuid",
    "jsonb": "jsonb_build_object('n', random() * 1e20, 't', md5(random()::text), 'z', NULL)",
    "inet": "inet '10.0.0.0' + (random() * 1e6)::int",
}
DECLARATIONS = """
CREATE TYPE mood AS ENUM ('sad', 'so, so "happy"');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TYPE pair AS (a integer, b text);
"""


ROWS = 60


def _expressions() -> dict[str, list[str]]:
    """By type, ROWS expressions: the literals first, then NULL, then random values or repeats."""
    kinds: dict[str, list[str]] = {}
    for kind, literals in (SCALARS | ARRAYS).items():
        quoted = [f"E'{_escaped(text)}'::{kind}" for text in literals]
        more = RANDOM.get(kind)
        values = [*quoted, f"NULL::{kind}"]
        while len(values) < ROWS:
            g = len(values)
            values.append(
                f"({more.replace('g %', f'{g} %')})::{kind}" if more else quoted[g % len(quoted)]
            )
        kinds[kind] = values
    return kinds


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def _array(value: Any, element: str) -> str:
    """A captured array as the server's literal."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return (
            "{" + (";" if element == "box" else ",").join(_array(v, element) for v in value) + "}"
        )
    if element == "bytea":
        value = "\\x" + base64.b64decode(value).hex()
    text = json.dumps(value) if element == "jsonb" or not isinstance(value, str) else value
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _given(value: Any, kind: str) -> str | None:
    """A captured value as text that the server reads as this type."""
    if value is None:
        return None
    if kind.endswith("[]"):
        return value if isinstance(value, str) else _array(value, kind[:-2])
    if kind == "bytea":
        return "\\x" + base64.b64decode(value).hex()
    return value if isinstance(value, str) else json.dumps(value)


def test_stream_snapshot_and_table_agree_for_every_type(
    postgres_database: PostgresDatabase,
) -> None:
    """The sessions of everyone else have other settings than those that capture pins."""
    database = postgres_database
    kinds = _expressions()
    names = {kind: f"c{number}" for number, kind in enumerate(kinds)}
    database.sql(DECLARATIONS)
    columns = ", ".join(f"{names[kind]} {kind}" for kind in kinds)
    database.sql(f"CREATE TABLE v (id integer PRIMARY KEY, {columns})")
    database.sql("SELECT setseed(0.42)")
    for row in range(ROWS):
        values = ", ".join(values[row] for values in kinds.values())
        database.sql(f"INSERT INTO v VALUES ({row + 1}, {values})")
    with capturing(publish(database)) as capture:
        capture.settle()
        database.sql(f"INSERT INTO v SELECT -id, {', '.join(names.values())} FROM v ORDER BY id")
        events = capture.until(2 * ROWS)
        texts = capture.log.events().column("after").to_pylist()
    images = [event.after or {} for event in events]
    assert [event.op for event in events] == [Operation.READ] * ROWS + [Operation.INSERT] * ROWS
    for read, streamed in zip(images[:ROWS], images[ROWS:], strict=True):
        assert read | {"id": -read["id"]} == streamed
    with database.connect() as db:
        for image, text in zip(images[:ROWS], texts, strict=False):
            for kind, name in names.items():
                if kind in ("json", "jsonb"):
                    _assert_same_json(db, name, image["id"], text)
                else:
                    _assert_held(db, kind, name, image)


def _assert_held(db: psycopg.Connection, kind: str, name: str, image: dict[str, Any]) -> None:
    row = db.execute(
        f"SELECT {name}::text, (%s::{kind})::text FROM v WHERE id = %s".encode(),
        (_given(image[name], kind), image["id"]),
    ).fetchone()
    assert row is not None
    assert row[0] == row[1], (kind, image[name])


def _assert_same_json(db: psycopg.Connection, name: str, key: int, text: str) -> None:
    """The server reads the image itself: a float of ours would round its numbers."""
    row = db.execute(
        f"SELECT coalesce({name}::jsonb::text, 'null'), (%s::json -> %s)::jsonb::text FROM v"
        " WHERE id = %s".encode(),
        (text, name, key),
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]


@pytest.mark.parametrize("kind", ["integer[]", "text[]"])
def test_array_with_its_own_bounds_is_kept_as_the_servers_text(
    postgres_database: PostgresDatabase, kind: str
) -> None:
    database = postgres_database
    database.sql(f"CREATE TABLE v (id integer PRIMARY KEY, a {kind})")
    database.sql("INSERT INTO v VALUES (1, '[2:3]={1,2}')")
    with capturing(publish(database)) as capture:
        (event,) = capture.until(1)
    assert event.after == {"id": 1, "a": "[2:3]={1,2}"}
