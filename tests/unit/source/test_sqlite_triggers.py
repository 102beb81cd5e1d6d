"""What the triggers record, statement by statement."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator

import pytest

from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.install import install
from headwater.source.sqlite.introspect import introspect
from tests.property.source.sqlite_replay import changes, replay, rows


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, v)")
    connection.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    install(connection)
    yield connection
    connection.close()


def short(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Each change as op, key before, key after."""
    return [
        (c.op, c.before[0][1] if c.before else None, c.after[0][1] if c.after else None)
        for c in changes(connection)
    ]


@pytest.mark.parametrize("recursive", ["off", "on"])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("REPLACE INTO t VALUES (1, 'x', 0)", [("d", 1, None), ("i", None, 1)]),
        ("REPLACE INTO t VALUES (3, 'b', 0)", [("d", 2, None), ("i", None, 3)]),
        ("REPLACE INTO t VALUES (1, 'b', 0)", [("d", 1, None), ("d", 2, None), ("i", None, 1)]),
        ("UPDATE OR REPLACE t SET u = 'b' WHERE id = 1", [("d", 2, None), ("u", 1, 1)]),
        ("UPDATE OR REPLACE t SET rowid = 2 WHERE id = 1", [("d", 2, None), ("u", 1, 2)]),
        ("INSERT OR IGNORE INTO t VALUES (1, 'b', 0)", []),
        ("INSERT INTO t VALUES (1, 'z', 0) ON CONFLICT DO NOTHING", []),
        ("INSERT INTO t VALUES (1, 'z', 0) ON CONFLICT (id) DO UPDATE SET v = 9", [("u", 1, 1)]),
        ("INSERT INTO t (u) VALUES ('n')", [("i", None, 3)]),
        ("DELETE FROM t", [("d", 1, None), ("d", 2, None)]),
    ],
)
def test_capture_records_what_really_happened_when_rows_collide(
    db: sqlite3.Connection, recursive: str, sql: str, expected: list[tuple[object, ...]]
) -> None:
    db.execute(f"PRAGMA recursive_triggers = {recursive}")
    db.execute(sql)
    assert short(db) == expected


def test_capture_records_nothing_when_the_insert_fails(db: sqlite3.Connection) -> None:
    for conflict in ("", " OR FAIL", " OR ABORT", " OR ROLLBACK"):
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(f"INSERT{conflict} INTO t VALUES (1, 'q', 0)")
    db.execute("INSERT INTO t VALUES (3, 'c', 0)")
    assert short(db) == [("i", None, 3)]


def test_capture_is_not_misled_when_rowid_minus_one_exists(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (-1, 'minus', 0)")
    db.execute("INSERT OR REPLACE INTO t (u) VALUES ('auto')")
    assert short(db) == [("i", None, -1), ("i", None, 3)]


@pytest.mark.parametrize("outcome", ["NOTHING", "UPDATE SET v = v + 1"])
def test_candidates_stay_few_when_a_bulk_upsert_collides_on_every_row(
    db: sqlite3.Connection, outcome: str
) -> None:
    series = "WITH s(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM s WHERE i < 3000) "
    bulk = (
        f"INSERT INTO t {series} SELECT i, 'k' || i, 0 FROM s WHERE true "
        f"ON CONFLICT (id) DO {outcome}"
    )
    db.execute(bulk)
    db.execute(bulk)
    updates = 2991 if outcome.startswith("UPDATE") else 0
    assert [op for op, _, _ in short(db)] == ["i"] * 2991 + ["u"] * updates
    (left,) = db.execute("SELECT count(*) FROM _headwater_candidate").fetchone()
    assert left <= 9


def test_capture_leaves_the_writers_view_alone_when_triggers_fire(db: sqlite3.Connection) -> None:
    cursor = db.execute("REPLACE INTO t VALUES (1, 'b', 0)")
    assert (cursor.lastrowid, cursor.rowcount) == (1, 1)
    assert db.execute("SELECT last_insert_rowid(), changes()").fetchone() == (1, 1)
    assert db.execute("UPDATE t SET v = 5 RETURNING id").fetchall() == [(1,)]


def test_capture_keeps_storage_classes_when_columns_are_untyped(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE s (k INTEGER PRIMARY KEY, r REAL, n NUMERIC, x)")
    install(db)
    values = (2**63 - 1, -(2**63), 1, 1.0, "1", b"\x00\xff", "", None, 1e300, "nul\x00inside")
    for value in values:
        db.execute("INSERT INTO s (r, n, x) VALUES (?, ?, ?)", (value, value, value))
    assert replay([], changes(db), (0,)) == rows(db, "s")


def test_capture_stamps_milliseconds_of_now_when_a_row_changes(db: sqlite3.Connection) -> None:
    before = int(time.time() * 1000)
    db.execute("DELETE FROM t WHERE id = 1")
    (stamp,) = db.execute("SELECT ts_ms FROM _headwater_change").fetchone()
    assert isinstance(stamp, int)
    assert before <= stamp <= int(time.time() * 1000)


def test_context_brackets_changes_when_the_application_names_itself(
    db: sqlite3.Connection,
) -> None:
    db.execute("BEGIN")
    db.execute("""INSERT INTO _headwater_context (context) VALUES ('{"user_id":7}')""")
    db.execute("UPDATE t SET v = 3 WHERE id = 1")
    db.execute("INSERT INTO _headwater_context (context) VALUES (NULL)")
    db.execute("COMMIT")
    assert db.execute("SELECT op, capture_no, n1 FROM _headwater_change").fetchall() == [
        ("c", None, '{"user_id":7}'),
        ("u", 1, 1),
        ("c", None, None),
    ]
    assert db.execute("SELECT count(*) FROM _headwater_context").fetchone() == (0,)


def test_change_ids_never_repeat_when_everything_else_is_purged(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM t")
    with pytest.raises(sqlite3.IntegrityError, match="newest captured change must stay"):
        db.execute("DELETE FROM _headwater_change")
    db.execute("DELETE FROM _headwater_change WHERE change_id < 2")
    db.execute("INSERT INTO t VALUES (1, 'a', 0)")
    assert [change.change_id for change in changes(db)] == [2, 3]


def test_guards_cost_one_index_probe_when_indexes_are_partial_or_expressions(
    db: sqlite3.Connection,
) -> None:
    db.execute("CREATE TABLE e (a TEXT COLLATE NOCASE, b INT, c, PRIMARY KEY (a, b))")
    db.execute("CREATE UNIQUE INDEX e1 ON e (lower(c), b)")
    db.execute("CREATE UNIQUE INDEX e2 ON e (c) WHERE b > 5")
    db.execute("CREATE TABLE probe (a, b, c)")
    install(db, ["e"])
    (sql,) = (t.sql for t in introspect(db).triggers if t.name == "_headwater_2_before_insert")
    condition = sql[sql.index(" WHEN ") + 6 : sql.index(" BEGIN ")]
    values = {f'NEW."{n}"': "?1" for n in ("a", "b", "c", "rowid")}
    for name, value in values.items():
        condition = condition.replace(name, value)
    plan = db.execute(f"EXPLAIN QUERY PLAN SELECT {condition}", ("x",)).fetchall()
    steps = [row[3] for row in plan if "held" in row[3]]
    assert len(steps) == 4
    assert all(step.startswith("SEARCH") for step in steps), steps


@pytest.mark.parametrize("name", ["new", "old", "held", "rowid", "row_id", "o1", "slot", "ts_ms"])
def test_capture_is_not_confused_when_names_are_those_it_uses(
    db: sqlite3.Connection, name: str
) -> None:
    db.execute(f"CREATE TABLE {quote(name)} (o1, {quote('x' + name)} UNIQUE, row_id, held, new)")
    if name != "o1":
        db.execute(f"CREATE TABLE k ({quote(name)} PRIMARY KEY, o1 UNIQUE) WITHOUT ROWID")
    install(db)
    for table in (name, "k") if name != "o1" else (name,):
        for value in (1, 2, 1):
            columns = len(db.execute(f"PRAGMA table_info({quote(table)})").fetchall())
            marks = ", ".join("?" * columns)
            db.execute(f"REPLACE INTO {quote(table)} VALUES ({marks})", (value,) * columns)
        mine = [change for change in changes(db) if change.table == table]
        assert [change.op for change in mine] == ["i", "i", "d", "i"]
        assert replay([], mine, ()) == rows(db, table)


def test_capture_sees_the_replaced_row_when_replace_puts_a_default_for_null(
    db: sqlite3.Connection,
) -> None:
    db.execute("CREATE TABLE n (k INTEGER PRIMARY KEY, u INT NOT NULL DEFAULT '7' UNIQUE)")
    db.execute("INSERT INTO n VALUES (1, 7), (2, 8)")
    install(db, ["n"])
    db.execute("INSERT OR REPLACE INTO n VALUES (3, NULL)")
    db.execute("UPDATE OR REPLACE n SET u = NULL WHERE k = 2")
    assert short(db) == [("d", 1, None), ("i", None, 3), ("d", 3, None), ("u", 2, 2)]


def test_capture_folds_the_cascade_when_a_row_refers_to_itself(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA foreign_keys = on")
    db.execute(
        "CREATE TABLE tree (id INTEGER PRIMARY KEY, up REFERENCES tree (id) ON UPDATE CASCADE)"
    )
    db.execute("INSERT INTO tree VALUES (1, 1), (2, 1)")
    start = rows(db, "tree")
    install(db, ["tree"])
    db.execute("UPDATE tree SET id = 5 WHERE id = 1")
    assert short(db) == [("u", 2, 2), ("u", 1, 5)]
    assert replay(start, changes(db), (0,)) == rows(db, "tree")


def test_capture_invents_no_delete_when_vacuum_gave_rows_new_rowids(
    db: sqlite3.Connection,
) -> None:
    db.execute("CREATE TABLE loose (a, b)")
    db.execute("INSERT INTO loose VALUES (1, 1), (2, 2), (3, 3)")
    db.execute("DELETE FROM loose WHERE a < 3")
    install(db, ["loose"])
    db.execute("INSERT OR IGNORE INTO loose (rowid, a) VALUES (3, 4)")
    db.execute("VACUUM")
    time.sleep(0.002)
    db.execute("INSERT INTO loose VALUES (4, 4)")
    assert short(db) == [("i", None, 4)]


def test_capture_keeps_outer_candidates_when_a_nested_insert_replaces_too(
    db: sqlite3.Connection,
) -> None:
    db.execute("CREATE TABLE deep (id INTEGER PRIMARY KEY, v)")
    db.execute("INSERT INTO deep VALUES (1, 1), (2, 2)")
    db.execute(
        "CREATE TRIGGER nest BEFORE INSERT ON deep WHEN NEW.v = 'outer' BEGIN "
        "INSERT OR REPLACE INTO deep VALUES (2, 'nested'); END"
    )
    install(db, ["deep"])
    db.execute("INSERT OR REPLACE INTO deep VALUES (1, 'outer')")
    assert short(db) == [("d", 2, None), ("i", None, 2), ("d", 1, None), ("i", None, 1)]


@pytest.mark.parametrize("recursive", ["off", "on"])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # The colliding row moves its key, and the cascade of that move fires before its update.
        (
            "INSERT INTO tree VALUES (9, 'r', 1) ON CONFLICT (u) DO UPDATE SET id = 7",
            [("u", 2, 2), ("u", 1, 7)],
        ),
        # The cascade of the replaced row removes the very row that is being updated.
        ("UPDATE OR REPLACE tree SET u = 'r' WHERE id = 2", [("d", 1, None), ("d", 2, None)]),
        ("REPLACE INTO tree VALUES (1, 'n', 1)", [("d", 1, None), ("d", 2, None), ("i", None, 1)]),
    ],
)
def test_capture_records_each_row_once_when_cascades_come_back_to_the_table(
    db: sqlite3.Connection, recursive: str, sql: str, expected: list[tuple[object, ...]]
) -> None:
    db.execute("PRAGMA foreign_keys = on")
    db.execute(f"PRAGMA recursive_triggers = {recursive}")
    db.execute(
        "CREATE TABLE tree (id INTEGER PRIMARY KEY, u TEXT UNIQUE, "
        "up REFERENCES tree (id) ON DELETE CASCADE ON UPDATE CASCADE)"
    )
    db.execute("INSERT INTO tree VALUES (1, 'r', 1), (2, 'c', 1)")
    start = rows(db, "tree")
    install(db, ["tree"])
    try:
        db.execute(sql)
    except sqlite3.IntegrityError:
        # With recursive triggers SQLite itself refuses this as soon as any delete trigger exists.
        assert (recursive, sql[:6]) == ("on", "UPDATE")
        expected = []
    assert short(db) == expected
    assert replay(start, changes(db), (0,), whole=False) == rows(db, "tree")
