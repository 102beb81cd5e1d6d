"""Install, upgrade, release and uninstall on real databases, and what drift makes of DDL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from headwater.errors import ConfigError, TransientError
from headwater.source.sqlite.drift import Drift, DriftKind, drift
from headwater.source.sqlite.generation import Trust, read_installed
from headwater.source.sqlite.install import install, release, uninstall, upgrade
from headwater.source.sqlite.introspect import introspect
from headwater.source.sqlite.numbers import column_numbers
from tests.property.source.sqlite_replay import changes, replay, rows

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, code TEXT UNIQUE, total REAL)"


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(ORDERS)
    yield connection
    connection.close()


def schema(connection: sqlite3.Connection) -> list[tuple[str, str, str, str | None]]:
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid"
    ).fetchall()


def findings(connection: sqlite3.Connection) -> tuple[Drift, ...]:
    installed = read_installed(connection)
    assert installed is not None
    return drift(introspect(connection), installed)


def kinds(connection: sqlite3.Connection) -> set[DriftKind]:
    return {finding.kind for finding in findings(connection)}


def test_install_changes_nothing_when_repeated(db: sqlite3.Connection) -> None:
    first = install(db)
    before = schema(db)
    second = install(db)
    assert schema(db) == before
    assert second.installed == first.installed
    assert (first.renewed, second.renewed) == (("orders",), ())
    assert kinds(db) == {DriftKind.UP_TO_DATE}
    assert first.installed.schema_cookie == introspect(db).schema_cookie


@pytest.mark.parametrize("isolation_level", [None, "DEFERRED", "IMMEDIATE"])
def test_uninstall_leaves_the_schema_as_it_was_when_anything_was_installed(
    isolation_level: Literal["DEFERRED", "IMMEDIATE"] | None,
) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=isolation_level)
    for sql in (
        ORDERS,
        'CREATE TABLE "we""ird [näme] select" ("a b" INT, "new" TEXT, """" PRIMARY KEY)',
        "CREATE TABLE w (a, b, c AS (a + b), PRIMARY KEY (b, a)) WITHOUT ROWID",
        "CREATE TABLE s (x INT PRIMARY KEY, y ANY) STRICT",
        "CREATE UNIQUE INDEX partial ON orders (total) WHERE total > 5",
        "CREATE VIEW cheap AS SELECT * FROM orders WHERE total < 5",
        "CREATE TRIGGER t1 AFTER INSERT ON orders BEGIN UPDATE orders SET total = 1; END",
        "INSERT INTO orders VALUES (1, 'a', 2)",
    ):
        connection.execute(sql)
    connection.commit()
    before = schema(connection)
    installation = install(connection)
    assert set(installation.renewed) == {"orders", 'we"ird [näme] select', "w", "s"}
    connection.execute("REPLACE INTO orders VALUES (1, 'b', 2)")
    connection.commit()
    uninstall(connection)
    assert schema(connection) == before
    assert read_installed(connection) is None
    connection.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("v", "a view"),
        ("f", "virtual table"),
        ("f_content", "belongs to a virtual table"),
        ("sqlite_sequence", "SQLite's own"),
        ("wide", "leaves room for 998"),
        ("hidden", "every name of the rowid"),
        ("_headwater_meta", "Headwater's own"),
    ],
)
def test_install_says_why_when_a_table_cannot_be_captured(
    db: sqlite3.Connection, name: str, reason: str
) -> None:
    install(db, ["orders"])
    db.execute("CREATE VIEW v AS SELECT 1 AS one")
    db.execute("CREATE VIRTUAL TABLE f USING fts5 (body)")
    db.execute("CREATE TABLE a (i INTEGER PRIMARY KEY AUTOINCREMENT)")
    db.execute(f"CREATE TABLE wide ({', '.join(f'c{i}' for i in range(999))})")
    db.execute("CREATE TABLE hidden (rowid, _rowid_, oid UNIQUE)")
    before = schema(db)
    with pytest.raises(ConfigError, match=reason) as caught:
        install(db, [name])
    assert caught.value.code == "sqlite-not-capturable"
    assert schema(db) == before
    assert set(install(db).renewed) == {"a"}


def test_install_names_the_table_when_it_does_not_exist(db: sqlite3.Connection) -> None:
    with pytest.raises(ConfigError, match="nowhere") as caught:
        install(db, ["nowhere"])
    assert caught.value.code == "sqlite-no-table"
    assert read_installed(db) is None


def test_install_takes_the_widest_table_when_it_has_998_columns(db: sqlite3.Connection) -> None:
    names = [f"c{i}" for i in range(998)]
    install(db)
    db.execute(f"CREATE TABLE wide ({', '.join(names)}, UNIQUE (c5, c7))")
    install(db)
    db.execute(f"INSERT INTO wide VALUES ({', '.join(str(i) for i in range(998))})")
    db.execute("UPDATE wide SET c997 = 'x'")
    db.execute("INSERT OR REPLACE INTO wide (c5, c7) VALUES (5, 7)")
    captured = changes(db)
    assert [change.op for change in captured] == ["i", "u", "d", "i"]
    assert replay([], captured, ()) == rows(db, "wide")


def test_install_is_refused_for_now_when_a_writer_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute(ORDERS)
    writer.execute("BEGIN IMMEDIATE")
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    with pytest.raises(TransientError) as caught:
        install(connection)
    assert caught.value.code == "source-busy"
    writer.close()
    connection.close()


def test_upgrade_makes_an_intact_generation_when_a_column_was_added(
    db: sqlite3.Connection,
) -> None:
    install(db)
    db.execute("INSERT INTO orders VALUES (1, 'a', 1)")
    db.execute("ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'n'")
    db.execute("INSERT INTO orders VALUES (2, 'b', 1, 'written before the upgrade')")
    assert kinds(db) == {DriftKind.COLUMNS_ADDED}
    result = upgrade(db)
    db.execute("INSERT INTO orders VALUES (3, 'c', 1, 'seen')")
    old, new = result.installed.generations
    assert (new.follows, new.trust) == (old.capture_no, Trust.INTACT)
    assert (old.retired_change_id, new.created_change_id) == (2, 2)
    assert [len(change.after or ()) for change in changes(db)] == [3, 3, 4]
    assert kinds(db) == {DriftKind.UP_TO_DATE}


def test_capture_goes_on_and_drift_sees_it_when_columns_and_table_are_renamed(
    db: sqlite3.Connection,
) -> None:
    install(db)
    db.execute("ALTER TABLE orders RENAME COLUMN code TO reference")
    db.execute("ALTER TABLE orders RENAME TO purchases")
    db.execute("INSERT INTO purchases VALUES (1, 'a', 1.5)")
    db.execute("REPLACE INTO purchases VALUES (2, 'a', 1.5)")
    assert [change.op for change in changes(db)] == ["i", "d", "i"]
    assert {(f.table, f.kind) for f in findings(db)} == {
        ("purchases", DriftKind.TABLE_RENAMED),
        ("purchases", DriftKind.COLUMNS_RENAMED),
    }
    active = upgrade(db).installed.active
    assert [(g.table, g.column_names, g.trust) for g in active] == [
        ("purchases", ("id", "reference", "total"), Trust.INTACT)
    ]


def test_drift_reads_positions_from_the_triggers_when_a_rebuild_reordered_columns(
    db: sqlite3.Connection,
) -> None:
    install(db)
    saved = [t.sql for t in introspect(db).triggers if "orders" in t.table]
    db.execute("CREATE TABLE fresh (total REAL, id INTEGER PRIMARY KEY, code TEXT UNIQUE)")
    db.execute("DROP TABLE orders")
    db.execute("ALTER TABLE fresh RENAME TO orders")
    for sql in saved:
        db.execute(sql)
    db.execute("INSERT INTO orders (id, code, total) VALUES (7, 'x', 2)")
    assert changes(db)[0].after == (("int", 7), ("str", "x"), ("float", 2.0))
    assert kinds(db) == {DriftKind.UP_TO_DATE}


def test_drift_is_a_gap_when_a_table_was_rebuilt(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("CREATE TABLE fresh (code TEXT PRIMARY KEY, id INT, total REAL)")
    db.execute("DROP TABLE orders")
    db.execute("ALTER TABLE fresh RENAME TO orders")
    assert kinds(db) == {DriftKind.TRIGGERS_MISSING, DriftKind.KEY_CHANGED}
    (generation,) = upgrade(db).installed.active
    assert (generation.trust, generation.key) == (Trust.BROKEN, ("code",))


def test_drift_is_a_gap_when_one_trigger_was_dropped_or_altered(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("DROP TRIGGER _headwater_1_delete")
    assert kinds(db) == {DriftKind.TRIGGERS_MISSING}
    db.execute("CREATE TRIGGER _headwater_1_delete AFTER DELETE ON orders BEGIN SELECT 1; END")
    assert kinds(db) == {DriftKind.TRIGGERS_ALTERED}
    assert all(finding.kind.trust is Trust.BROKEN for finding in findings(db))


def test_upgrade_retires_the_generation_when_its_table_is_gone(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("DROP TABLE orders")
    assert kinds(db) == {DriftKind.TABLE_GONE}
    installed = upgrade(db).installed
    assert installed.active == ()
    assert len(installed.generations) == 1
    db.execute(ORDERS)
    (generation,) = install(db).installed.active
    assert (generation.follows, generation.trust) == (1, Trust.BROKEN)


def test_drift_is_a_doubt_when_a_unique_index_came_later(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("CREATE UNIQUE INDEX later ON orders (total)")
    assert kinds(db) == {DriftKind.GUARDS_STALE}
    (generation,) = upgrade(db).installed.active
    assert generation.trust is Trust.DOUBTFUL
    db.execute("INSERT INTO orders VALUES (1, 'a', 5)")
    db.execute("REPLACE INTO orders VALUES (2, 'b', 5)")
    assert [change.op for change in changes(db)] == ["i", "d", "i"]


def test_drift_is_a_doubt_when_an_application_trigger_is_younger(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("CREATE TRIGGER early BEFORE INSERT ON orders BEGIN SELECT 1; END")
    assert kinds(db) == {DriftKind.GUARDS_STALE}
    upgrade(db)
    assert kinds(db) == {DriftKind.UP_TO_DATE}
    db.execute("CREATE TRIGGER late AFTER INSERT ON orders BEGIN UPDATE orders SET total = 9; END")
    assert kinds(db) == {DriftKind.OUTRANKED}
    upgrade(db)
    assert kinds(db) == {DriftKind.UP_TO_DATE}
    db.execute("INSERT INTO orders VALUES (1, 'a', 5)")
    assert [change.op for change in changes(db)] == ["i", "u"]
    assert replay([], changes(db), (0,)) == rows(db, "orders")


def test_release_allows_drop_column_when_sqlite_refused_it_before(db: sqlite3.Connection) -> None:
    install(db)
    db.execute("INSERT INTO orders VALUES (1, 'a', 5)")
    with pytest.raises(sqlite3.OperationalError, match="_headwater_"):
        db.execute("ALTER TABLE orders DROP COLUMN total")
    release(db, "Orders")
    db.execute("ALTER TABLE orders DROP COLUMN total")
    (generation,) = install(db).installed.active
    assert (generation.column_names, generation.trust) == (("id", "code"), Trust.BROKEN)
    assert len(changes(db)) == 1
    with pytest.raises(ConfigError):
        release(db, "nowhere")


def test_upgrade_says_what_to_do_when_nothing_or_another_format_is_installed(
    db: sqlite3.Connection,
) -> None:
    with pytest.raises(ConfigError) as missing:
        upgrade(db)
    assert missing.value.code == "sqlite-not-installed"
    install(db)
    db.execute("UPDATE _headwater_meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(ConfigError) as other:
        install(db)
    assert other.value.code == "sqlite-format"


def test_columns_keep_their_numbers_when_renamed_and_give_them_to_no_other(
    db: sqlite3.Connection,
) -> None:
    def numbered() -> dict[str, int]:
        found = read_installed(db)
        assert found is not None
        numbers = column_numbers(found.generations)
        newest = max(found.generations, key=lambda each: each.capture_no)
        return dict(zip(newest.column_names, numbers[newest.capture_no], strict=True))

    install(db)
    assert numbered() == {"id": 1, "code": 2, "total": 3}
    db.execute("ALTER TABLE orders RENAME COLUMN code TO sign")
    db.execute("ALTER TABLE orders ADD COLUMN code INTEGER")
    upgrade(db)
    assert numbered() == {"id": 1, "sign": 2, "total": 3, "code": 4}
    # A column that is dropped while nobody watches, and one of its name that comes after it.
    release(db, "orders")
    db.execute("ALTER TABLE orders DROP COLUMN code")
    db.execute("ALTER TABLE orders ADD COLUMN code TEXT")
    install(db)
    assert numbered() == {"id": 1, "sign": 2, "total": 3, "code": 5}
