"""A seeded application on PostgreSQL: every kind of change and of transaction that there is.

What it committed is not remembered here: the server tells it, through a slot of its own that
capture never touches (see postgres_truth).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import psycopg

from tests.fix_postgres import PostgresDatabase

Statement = tuple[str, tuple[object, ...]]

# The columns that name a row. `tag` is named by its index, not by its primary key.
KEYS: dict[str, tuple[str, ...]] = {
    "account": ("id",),
    "orders": ("place", "no"),
    "doc": ("id",),
    "photo": ("id",),
    "tag": ("code",),
    "shifty": ("id",),
    "bulk": ("id",),
    "quiet": ("id",),
    "fence": ("id",),
}
UNWANTED = "noise"
BIG_ROWS = 900
_LARGEST_FILLS = 3

_DDL = """
CREATE TABLE account (id bigint PRIMARY KEY, name text, balance numeric, n int DEFAULT 0);
CREATE TABLE orders (
    note text, no int, place text, PRIMARY KEY (place, no),
    account bigint REFERENCES account ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE doc (id int PRIMARY KEY, body text, n int DEFAULT 0);
ALTER TABLE doc ALTER body SET STORAGE EXTERNAL;
CREATE TABLE photo (id int PRIMARY KEY, body text, n int DEFAULT 0);
ALTER TABLE photo ALTER body SET STORAGE EXTERNAL;
ALTER TABLE photo REPLICA IDENTITY FULL;
CREATE TABLE tag (id int PRIMARY KEY, code text NOT NULL, n int DEFAULT 0);
CREATE UNIQUE INDEX tag_code ON tag (code);
ALTER TABLE tag REPLICA IDENTITY USING INDEX tag_code;
CREATE TABLE shifty (id int PRIMARY KEY, word text, n int DEFAULT 0);
CREATE TABLE bulk (id int PRIMARY KEY, v text);
CREATE TABLE quiet (id int PRIMARY KEY, v text);
CREATE TABLE noise (id int PRIMARY KEY, v text);
CREATE TABLE fence (id int PRIMARY KEY);
INSERT INTO account SELECT i, 'a' || i, i * 1.10 FROM generate_series(-4, 4) i;
INSERT INTO orders SELECT repeat('-', 1500), i, 'a', 0 FROM generate_series(-6, 6) i;
INSERT INTO doc SELECT i, repeat(md5(i::text), 100) FROM generate_series(-3, 12) i;
INSERT INTO photo SELECT i, repeat(md5(i::text), 100) FROM generate_series(0, 9) i;
INSERT INTO tag SELECT i, 'c' || i FROM generate_series(-2, 9) i;
INSERT INTO shifty SELECT i, 'w' || i FROM generate_series(-2, 9) i;
INSERT INTO quiet SELECT i, repeat('q', 1500) FROM generate_series(1, 20) i;
INSERT INTO bulk SELECT -i, repeat(md5(i::text), 40) FROM generate_series(1, 40) i;
"""
# Each is followed by an update of every row, so that every row is told anew in its new shape.
_ALTERS = (
    "ALTER TABLE shifty ADD COLUMN extra int DEFAULT 7",
    "ALTER TABLE shifty RENAME COLUMN word TO term",
    "ALTER TABLE shifty DROP COLUMN extra",
    "ALTER TABLE shifty RENAME COLUMN term TO word",
)


class Workload:
    """The application. `step` writes the next transaction of its script.

    `largest` is how many rows the first large transactions have.
    """

    def __init__(self, database: PostgresDatabase, seed: int, largest: int = BIG_ROWS) -> None:
        self._database = database
        self._random = random.Random(seed)
        self._sizes = chain([largest] * _LARGEST_FILLS, repeat(BIG_ROWS))
        self._next_bulk = 1
        self._altered = 0
        self._prepared = 0
        database.sql(_DDL)
        self._db = database.connect()
        self._kinds = self._script()
        self.contexts: dict[int, str] = {}

    def _script(self) -> Iterator[str]:
        """Early enough for any failpoint, then all of it once more after the restart."""
        early = ["small", "context", "big", "savepoint", "alter", "small", "big", "big_undone"]
        late = [
            *("small", "undone", "savepoint", "context", "truncate", "prepared", "alter"),
            *("big", "big_undone", "big_savepoint", "interleaved", "noise", "small"),
        ] * 2
        self._random.shuffle(late)
        return iter(early + ["small"] * 4 + late)

    def step(self) -> bool:
        """Write the next transaction; False when there is none left."""
        kind = next(self._kinds, None)
        if kind is None:
            return False
        kinds: dict[str, Callable[[], None]] = {
            "small": self.extra,
            "undone": self._undone,
            "context": self._context,
            "savepoint": self._savepoint,
            "truncate": self._truncate,
            "alter": self._alter,
            "prepared": self._two_phases,
            "noise": self._noise,
            "big": self._big,
            "big_undone": self._big_undone,
            "big_savepoint": self._big_savepoint,
            "interleaved": self._interleaved,
        }
        kinds[kind]()
        return True

    def extra(self) -> None:
        """One small transaction."""
        with self._db.transaction():
            self._write()

    def fence(self) -> None:
        """The last transaction of all."""
        self._db.execute("INSERT INTO fence VALUES (1)")

    def _write(self) -> None:
        for _ in range(self._random.randint(1, 5)):
            sql, values = self._random.choice(_WRITES)(self._random)
            self._db.execute(sql.encode(), values)

    def _undone(self) -> None:
        with self._db.transaction(force_rollback=True):
            self._write()

    def _context(self) -> None:
        """Who acts, said first."""
        context = json.dumps({"user": self._random.randint(1, 99)})
        with self._db.transaction():
            row = self._db.execute(
                "SELECT pg_logical_emit_message(true, 'headwater.context', %s),"
                " pg_current_xact_id()::text",
                (context,),
            ).fetchone()
            self._write()
            self._hot()
        assert row is not None
        self.contexts[int(row[1])] = context

    def _savepoint(self) -> None:
        with self._db.transaction():
            self._write()
            with self._db.transaction(force_rollback=True):
                self._write()
                with self._db.transaction():
                    self._write()
            with self._db.transaction():
                self._write()
            self._hot()

    def _hot(self) -> None:
        """The one row that everybody changes."""
        self._db.execute(
            "INSERT INTO account (id, n) VALUES (0, 1)"
            " ON CONFLICT (id) DO UPDATE SET n = account.n + 1"
        )

    def _truncate(self) -> None:
        """Both tables of a foreign key, and new rows in the same transaction."""
        with self._db.transaction():
            self._write()
            self._db.execute("TRUNCATE account CASCADE")
            self._db.execute("INSERT INTO account (id, name) VALUES (0, 'new'), (-1, 'new')")
            self._write()

    def _alter(self) -> None:
        with self._db.transaction():
            self._db.execute("UPDATE shifty SET n = n + 1 WHERE id <= 0")
            self._db.execute(_ALTERS[self._altered % len(_ALTERS)].encode())
            self._db.execute("UPDATE shifty SET n = n + 1")
        self._altered += 1

    def _two_phases(self) -> None:
        for ending in ("COMMIT", "ROLLBACK"):
            self._prepared += 1
            name = f"{self._database.name}_{self._prepared}"
            self._db.execute("BEGIN")
            self._write()
            self._hot()
            self._db.execute(f"PREPARE TRANSACTION '{name}'".encode())
            # Between the two phases; a row that the first one has not locked.
            self._db.execute("INSERT INTO bulk VALUES (%s, 'between')", (-1_000 - self._prepared,))
            self._db.execute(f"{ending} PREPARED '{name}'".encode())

    def _noise(self) -> None:
        self._db.execute(
            "INSERT INTO noise SELECT i, 'x' FROM generate_series(1, 100) i ON CONFLICT DO NOTHING"
        )

    def _fill(self, db: psycopg.Connection) -> None:
        """More rows than the server keeps in memory: it sends them while the writer goes on."""
        first = self._next_bulk
        self._next_bulk += next(self._sizes)
        db.execute(
            "INSERT INTO bulk SELECT i, md5(i::text) FROM generate_series(%s::int, %s) i",
            (first, self._next_bulk - 1),
        )

    def _big(self) -> None:
        with self._db.transaction():
            self._write()
            self._fill(self._db)
            self._db.execute("UPDATE doc SET n = n + 1")
            self._db.execute("DELETE FROM bulk WHERE id BETWEEN 1 AND %s", (self._next_bulk // 2,))

    def _big_undone(self) -> None:
        with self._db.transaction(force_rollback=True):
            self._fill(self._db)

    def _big_savepoint(self) -> None:
        with self._db.transaction():
            self._fill(self._db)
            with self._db.transaction(force_rollback=True):
                self._fill(self._db)
                self._db.execute("UPDATE photo SET n = n - 1")
            self._write()
            self._fill(self._db)

    def _interleaved(self) -> None:
        """Two large transactions at once; the one that began last commits first."""
        with self._database.connect() as other, self._db.transaction():
            self._fill(self._db)
            with other.transaction():
                self._fill(other)
                self._fill(self._db)
                self._fill(other)
            self._write()

    def reconnect(self) -> None:
        """After the server was away."""
        self._db.close()
        self._db = self._database.connect()

    def close(self) -> None:
        self._db.close()


def _account(r: random.Random) -> Statement:
    sql = (
        "INSERT INTO account (id, name, balance) VALUES (%s, %s, %s)"
        " ON CONFLICT (id) DO UPDATE SET balance = excluded.balance, n = account.n + 1"
    )
    return sql, (r.randint(-4, 4), r.choice(["Zoë", "'\"\\", "", None]), r.choice([None, "1.50"]))


def _move_account(r: random.Random) -> Statement:
    return _move("account", r.randint(-4, 4), r.randint(-4, 4))


def _move(table: str, old: int, new: int) -> Statement:
    """Give a row another key, if that one is free."""
    free = f"NOT EXISTS (SELECT FROM {table} WHERE id = {new})"
    return f"UPDATE {table} SET id = {new} WHERE id = {old} AND {free}", ()


def _remove_account(r: random.Random) -> Statement:
    return "DELETE FROM account WHERE id = %s", (r.randint(-4, 4),)


def _order(r: random.Random) -> Statement:
    sql = (
        "INSERT INTO orders (place, no, note, account) SELECT %s, %s, %s, id FROM account"
        " WHERE id = %s ON CONFLICT (place, no) DO UPDATE SET note = excluded.note"
    )
    return sql, (r.choice("ab"), r.randint(-9, 9), f"note {r.random()}", r.randint(-4, 4))


def _move_orders(r: random.Random) -> Statement:
    sql = (
        "UPDATE orders SET no = -no WHERE place = %s AND NOT EXISTS"
        " (SELECT FROM orders o WHERE o.place = orders.place AND o.no = -orders.no)"
    )
    return sql, (r.choice("ab"),)


def _doc(r: random.Random) -> Statement:
    table = r.choice(["doc", "photo"])
    sql = (
        f"INSERT INTO {table} VALUES (%s, repeat(md5(%s::text), 100), 0)"
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body"
    )
    return sql, (r.randint(-3, 12), r.random())


def _touch_docs(r: random.Random) -> Statement:
    """The long value stays as it is, so the server does not send it."""
    table = r.choice(["doc", "photo"])
    return f"UPDATE {table} SET n = n + 1 WHERE abs(id) %% 4 = %s", (r.randint(0, 3),)


def _move_doc(r: random.Random) -> Statement:
    return _move("doc", r.randint(-3, 12), r.randint(-3, 12))


def _remove_doc(r: random.Random) -> Statement:
    return f"DELETE FROM {r.choice(['doc', 'photo'])} WHERE id = %s", (r.randint(-3, 12),)


def _tag(r: random.Random) -> Statement:
    sql = "INSERT INTO tag (id, code) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    key = r.randint(-2, 9)
    return sql, (key, f"c{key}")


def _recode(r: random.Random) -> Statement:
    return "UPDATE tag SET code = id || '-' || %s, n = n + 1 WHERE id = %s", (
        str(r.random()),
        r.randint(-2, 9),
    )


def _shifty(r: random.Random) -> Statement:
    sql = (
        "INSERT INTO shifty (id, n) VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET n = shifty.n + 1"
    )
    return sql, (r.randint(-2, 9),)


_WRITES: tuple[Callable[[random.Random], Statement], ...] = (
    _account,
    _account,
    _move_account,
    _remove_account,
    _order,
    _order,
    _move_orders,
    _doc,
    _touch_docs,
    _touch_docs,
    _move_doc,
    _remove_doc,
    _tag,
    _recode,
    _shifty,
)
