"""Random statements against a real database: nothing is lost, invented or out of order."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.source.sqlite.install import install
from headwater.source.sqlite.introspect import introspect
from tests.property.source.sqlite_replay import changes, replay, rows

INTS: tuple[object, ...] = (None, -1, 0, 1, 2, 3)
TEXTS: tuple[object, ...] = (None, "a", "A", "b", "c", 5, b"a")
ANY: tuple[object, ...] = (None, 1, 1.0, "1", b"1", 2**62, -0.5)


@dataclass(frozen=True)
class Shape:
    ddl: tuple[str, ...]
    values: dict[str, dict[str, tuple[object, ...]]]
    upsert: dict[str, str] = field(default_factory=dict)
    # SQLite gives a row that a cascade changes while it is itself being updated a stale OLD; then
    # only the key of a before image is exact.
    whole: bool = True


SHAPES = {
    "rowid_alias": Shape(
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, v)",),
        {"t": {"id": INTS, "u": TEXTS, "v": ANY, "rowid": INTS}},
        {"t": "ON CONFLICT (id) DO UPDATE SET v = 7"},
    ),
    "without_rowid": Shape(
        (
            "CREATE TABLE t (v, b INT, a TEXT COLLATE NOCASE, PRIMARY KEY (a, b)) WITHOUT ROWID",
            "CREATE UNIQUE INDEX tv ON t (v)",
        ),
        {"t": {"a": TEXTS, "b": INTS, "v": ANY}},
        {"t": "ON CONFLICT (a, b) DO UPDATE SET v = excluded.v, b = 9"},
    ),
    "keyless": Shape(
        (
            "CREATE TABLE t (a, b TEXT, c INT)",
            "CREATE UNIQUE INDEX partial ON t (c) WHERE b > 'a'",
            "CREATE UNIQUE INDEX expression ON t (lower(b) COLLATE NOCASE, a DESC)",
        ),
        {"t": {"a": ANY, "b": TEXTS, "c": INTS, "rowid": INTS}},
        {"t": "ON CONFLICT DO NOTHING"},
    ),
    "text_key": Shape(
        ("CREATE TABLE t (k TEXT PRIMARY KEY, v COLLATE RTRIM UNIQUE)",),
        {"t": {"k": TEXTS, "v": ("x", "x ", None, 1), "_rowid_": INTS}},
        {"t": "ON CONFLICT (k) DO UPDATE SET v = excluded.v"},
    ),
    "declared_conflicts": Shape(
        (
            (
                "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, "
                "u TEXT NOT NULL DEFAULT 'a' UNIQUE ON CONFLICT REPLACE, "
                "w INT UNIQUE ON CONFLICT IGNORE, r REAL, "
                "g AS (coalesce(r, 0) + 1) STORED UNIQUE, h AS (u || w))"
            ),
        ),
        {"t": {"id": INTS, "u": TEXTS, "w": INTS, "r": (1, 2.5, None, "1")}},
    ),
    "cascades": Shape(
        (
            (
                "CREATE TABLE p (id INTEGER PRIMARY KEY, u UNIQUE, "
                "up REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)"
            ),
            (
                "CREATE TABLE c (k INTEGER PRIMARY KEY, "
                "a REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, "
                "b REFERENCES p (u) ON DELETE SET NULL ON UPDATE SET NULL)"
            ),
        ),
        {"p": {"id": INTS, "u": INTS, "up": INTS}, "c": {"k": INTS, "a": INTS, "b": INTS}},
        {"p": "ON CONFLICT (u) DO UPDATE SET id = excluded.id"},
        whole=False,
    ),
    "set_null_to_itself": Shape(
        (
            (
                "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, "
                "up REFERENCES t (u) ON DELETE SET NULL ON UPDATE SET NULL)"
            ),
        ),
        {"t": {"id": INTS, "u": INTS, "up": INTS}},
        whole=False,
    ),
    "application_triggers": Shape(
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, v)",
            "CREATE TABLE audit (id INTEGER PRIMARY KEY, what)",
            (
                "CREATE TRIGGER stale BEFORE INSERT ON t BEGIN "
                "UPDATE t SET v = 'superseded' WHERE u = NEW.u; END"
            ),
            (
                "CREATE TRIGGER touched AFTER UPDATE OF u ON t BEGIN "
                "UPDATE t SET v = 'touched' WHERE id = NEW.id; END"
            ),
            (
                "CREATE TRIGGER removed AFTER DELETE ON t BEGIN "
                "INSERT INTO audit (what) VALUES (OLD.u); END"
            ),
            (
                "CREATE TRIGGER nested BEFORE INSERT ON t WHEN NEW.v = 1 BEGIN "
                "INSERT OR REPLACE INTO t VALUES (NEW.id + 10, NEW.u || 'n', 'nested'); END"
            ),
            (
                "CREATE TRIGGER unwanted AFTER INSERT ON t WHEN NEW.v = '1' BEGIN "
                "DELETE FROM t WHERE id = NEW.id; SELECT RAISE(IGNORE); END"
            ),
        ),
        {"t": {"id": (*INTS, 11, 12), "u": (*TEXTS, "an", "bn"), "v": ANY}, "audit": {"id": INTS}},
        {"t": "ON CONFLICT (u) DO UPDATE SET v = excluded.v"},
    ),
}

CONFLICTS = ("", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ROLLBACK")
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "VACUUM")

Statement = tuple[str, tuple[object, ...]]


@st.composite
def statements(draw: st.DrawFn, shape: Shape) -> Statement:
    kind = draw(st.sampled_from(("insert",) * 5 + ("update",) * 3 + ("delete", "control")))
    if kind == "control":
        return draw(st.sampled_from(CONTROL)), ()
    table = draw(st.sampled_from(sorted(shape.values)))
    domain = shape.values[table]
    where = draw(st.sampled_from(sorted(domain)))
    if kind == "delete":
        return f"DELETE FROM {table} WHERE {where} IS ?", (draw(st.sampled_from(domain[where])),)
    names = draw(st.lists(st.sampled_from(sorted(domain)), min_size=1, unique=True))
    conflict = draw(st.sampled_from(CONFLICTS))
    if kind == "update":
        sets = ", ".join(f"{name} = ?" for name in names)
        values = [draw(st.sampled_from(domain[name])) for name in (*names, where)]
        return f"UPDATE{conflict} {table} SET {sets} WHERE {where} IS NOT ?", tuple(values)
    count = draw(st.integers(1, 3))
    row = f"({', '.join('?' * len(names))})"
    values = [draw(st.sampled_from(domain[name])) for _ in range(count) for name in names]
    tail = ""
    if not conflict and table in shape.upsert and draw(st.booleans()):
        tail = " " + shape.upsert[table]
    sql = f"INSERT{conflict} INTO {table} ({', '.join(names)}) VALUES {', '.join([row] * count)}"
    return sql + tail, tuple(values)


def attempt(connection: sqlite3.Connection, statement: Statement) -> None:
    try:
        connection.execute(*statement)
    except (sqlite3.IntegrityError, sqlite3.OperationalError) as error:
        if "_headwater_" in str(error):
            raise


@pytest.mark.parametrize("recursive", ["off", "on"])
@pytest.mark.parametrize("name", sorted(SHAPES))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_capture_replays_to_the_final_rows_when_statements_are_random(
    name: str, recursive: str, data: st.DataObject
) -> None:
    shape = SHAPES[name]
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for sql in shape.ddl:
            connection.execute(sql)
        connection.execute("PRAGMA foreign_keys = on")
        connection.execute(f"PRAGMA recursive_triggers = {recursive}")
        for statement in data.draw(st.lists(statements(shape), max_size=4), label="before"):
            attempt(connection, statement)
        if connection.in_transaction:
            connection.execute("COMMIT")
        start = {table: rows(connection, table) for table in shape.values}
        install(connection)
        for statement in data.draw(st.lists(statements(shape), max_size=25), label="captured"):
            attempt(connection, statement)
        captured = changes(connection)
        database = introspect(connection)
        for table, before in start.items():
            described = database.table(table)
            assert described is not None
            names = [column.name for column in described.columns]
            key = tuple(names.index(column) for column in described.key)
            mine = [change for change in captured if change.table == table]
            assert replay(before, mine, key, whole=shape.whole) == rows(connection, table)
    finally:
        connection.close()
