"""A seeded application: it writes transactions and remembers what the database was after each.

The record is independent of capture: whole rows, read inside each transaction just before it
commits, under the number of the newest change at that moment.
"""

from __future__ import annotations

import base64
import random
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[Any, ...]
State = dict[str, dict[Key, Row]]
Statement = tuple[str, tuple[object, ...]]

KEYS: dict[str, tuple[str, ...]] = {
    "customer": ("id",),
    "orders": ("tenant", "no"),
    "item": ("sku", "lot"),
    "tag": ("id",),
}

_DDL = """
CREATE TABLE customer (
    id INTEGER PRIMARY KEY, name TEXT, balance INTEGER, photo BLOB, score REAL);
CREATE TABLE orders (
    tenant TEXT, no INTEGER, note TEXT,
    customer INTEGER REFERENCES customer (id) ON DELETE CASCADE ON UPDATE CASCADE,
    PRIMARY KEY (tenant, no));
CREATE TABLE item (
    sku TEXT, lot INTEGER, qty INTEGER, data BLOB, PRIMARY KEY (sku, lot)) WITHOUT ROWID;
CREATE TABLE tag (id INTEGER PRIMARY KEY, word TEXT UNIQUE, uses INTEGER);
"""

BIG_ROWS = 36
ALTER = "ALTER TABLE customer ADD COLUMN tier TEXT DEFAULT 'basic'"


@dataclass(frozen=True)
class Commit:
    """One committed transaction: the newest change when it committed, and every row then."""

    change_id: int
    state: State


@dataclass
class History:
    """Everything the application knows that it committed."""

    commits: list[Commit] = field(default_factory=list)
    markers: set[int] = field(default_factory=set)
    contexts: dict[int, str] = field(default_factory=dict)

    @property
    def last(self) -> Commit:
        return self.commits[-1]

    def borders(self) -> dict[int, State]:
        """The state after each change that ended a transaction, by that change.

        A marker may be what ends it; then the change before the marker is as good as the end.
        """
        states: dict[int, State] = {}
        for commit in self.commits:
            change_id = commit.change_id
            states[change_id] = commit.state
            while change_id in self.markers:
                change_id -= 1
                states[change_id] = commit.state
        return states


class Workload:
    """The application. One connection; `step` writes one transaction."""

    def __init__(self, path: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._db = sqlite3.connect(path, isolation_level=None, timeout=20)
        if seed % 2:
            self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.executescript(_DDL)
        self._kinds = self._script()
        self.history = History()
        for _ in range(6):
            self._transaction(self._small())

    def _script(self) -> Iterator[str]:
        """Early enough for any failpoint, then all of it once more after the restart."""
        early = ["small"] * 3 + ["big", "context", "small", "alter", "undone", "small", "big"]
        late = ["small", "context", "undone", "big", "small", "small"] * 2
        self._random.shuffle(late)
        return iter(early + ["small"] * 8 + late)

    def step(self) -> bool:
        """Write the next transaction; False when there is none left."""
        match next(self._kinds, None):
            case None:
                return False
            case "small":
                self._transaction(self._small())
            case "context":
                self._transaction(self._small(), context=f'{{"user":{len(self.history.commits)}}}')
            case "undone":
                self._transaction(self._small(), undo=True)
            case "big":
                self._transaction(self._big())
            case _:
                self._transaction([(ALTER, ())])
        return True

    def extra(self) -> None:
        """One more small transaction, beyond the script."""
        self._transaction(self._small())

    def touch(self) -> None:
        """A transaction that changes at least three tables, whatever is in them."""
        touching = (_replace_customer, _tag, _item, _order)
        self._transaction([write(self._random) for write in touching])

    def rewrite(self) -> None:
        """A transaction that changes every row there is."""
        self._transaction(
            [
                ("UPDATE customer SET score = score + 1", ()),
                ("UPDATE orders SET note = note || '.'", ()),
                ("UPDATE item SET qty = qty + 1", ()),
                ("UPDATE tag SET uses = uses + 1", ()),
            ]
        )

    def alter(self) -> None:
        """Add a column that the script does not add."""
        self._transaction([("ALTER TABLE customer ADD COLUMN vip INTEGER DEFAULT 0", ())])

    def rename(self) -> None:
        """Rename the column that `alter` has added."""
        self._transaction([("ALTER TABLE customer RENAME COLUMN vip TO is_vip", ())])

    def _transaction(
        self, statements: list[Statement], *, undo: bool = False, context: str | None = None
    ) -> None:
        # An install is one transaction too, so whether it was done cannot change in between.
        self._db.execute("BEGIN IMMEDIATE")
        opening = None if context is None else self._mark(context)
        for sql, values in statements:
            try:
                self._db.execute(sql, values)
            except sqlite3.IntegrityError:
                continue  # the statement left nothing behind; the transaction goes on
        if undo:
            self._db.execute("ROLLBACK")
            return
        closing = None if opening is None else self._mark(None)
        newest, state = self._newest(), self._state()
        self._db.execute("COMMIT")
        self.history.commits.append(Commit(newest, state))
        if opening is not None and closing is not None and context is not None:
            self.history.markers |= {opening, closing}
            self.history.contexts.update(dict.fromkeys(range(opening, closing), context))

    def _mark(self, context: str | None) -> int | None:
        """Say who acts, or that it ends here, if capture is there to listen."""
        if not self._installed():
            return None
        self._db.execute("INSERT INTO _headwater_context (context) VALUES (?)", (context,))
        return self._newest()

    def _installed(self) -> bool:
        sql = "SELECT 1 FROM sqlite_master WHERE name = '_headwater_change'"
        return self._db.execute(sql).fetchone() is not None

    def _newest(self) -> int:
        if not self._installed():
            return 0
        (newest,) = self._db.execute("SELECT max(change_id) FROM _headwater_change").fetchone()
        return int(newest or 0)

    def _state(self) -> State:
        return {table: rows(self._db, table) for table in KEYS}

    def _small(self) -> list[Statement]:
        return [
            self._random.choice(_WRITES)(self._random) for _ in range(self._random.randint(1, 5))
        ]

    def _big(self) -> list[Statement]:
        """More changes than one read takes, so that the transaction travels in pieces."""
        lot = self._random.randint(100, 10**6)
        insert = "INSERT INTO item VALUES (?, ?, ?, ?)"
        filling = [(insert, (f"big{lot}", number, number, None)) for number in range(BIG_ROWS)]
        return [*filling, *self._small()]

    def close(self) -> None:
        self._db.close()


def rows(db: sqlite3.Connection, table: str) -> dict[Key, Row]:
    """The rows of a table by key, with values as the event images spell them."""
    cursor = db.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    found = [dict(zip(names, map(_plain, values), strict=True)) for values in cursor]
    return {tuple(row[name] for name in KEYS[table]): row for row in found}


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _customer(r: random.Random) -> tuple[object, ...]:
    balance = r.choice([0, 2**63 - 1, -(2**63), 2**53 + 1, r.randint(-9, 9), None])
    photo = r.choice([None, b"", r.randbytes(20)])
    return (r.randint(1, 9), r.choice(["Zoë", "'\"", "", None]), balance, photo, r.random() * 1e-7)


def _upsert_customer(r: random.Random) -> Statement:
    sql = (
        "INSERT INTO customer (id, name, balance, photo, score) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET balance = excluded.balance, photo = excluded.photo"
    )
    return sql, _customer(r)


def _replace_customer(r: random.Random) -> Statement:
    sql = "REPLACE INTO customer (id, name, balance, photo, score) VALUES (?, ?, ?, ?, ?)"
    return sql, _customer(r)


def _move_customer(r: random.Random) -> Statement:
    return "UPDATE OR IGNORE customer SET id = ? WHERE id = ?", (r.randint(1, 9), r.randint(1, 9))


def _remove_customer(r: random.Random) -> Statement:
    return "DELETE FROM customer WHERE id = ?", (r.randint(1, 9),)


def _order(r: random.Random) -> Statement:
    values = (r.choice("ab"), r.randint(1, 9), f"note {r.random()}", r.randint(1, 9))
    return "REPLACE INTO orders (tenant, no, note, customer) VALUES (?, ?, ?, ?)", values


def _move_orders(r: random.Random) -> Statement:
    return "UPDATE OR REPLACE orders SET no = no + 1 WHERE tenant = ?", (r.choice("ab"),)


def _item(r: random.Random) -> Statement:
    sql = (
        "INSERT INTO item VALUES (?, ?, ?, ?)"
        " ON CONFLICT (sku, lot) DO UPDATE SET qty = qty + 1, lot = lot + 1"
    )
    return sql, (r.choice("xyz"), r.randint(1, 4), 1, r.randbytes(3))


def _change_items(r: random.Random) -> Statement:
    return "UPDATE item SET qty = qty * 2 WHERE lot <= ?", (r.randint(1, 9),)


def _remove_items(r: random.Random) -> Statement:
    return "DELETE FROM item WHERE lot % 7 = ?", (r.randint(0, 6),)


def _tag(r: random.Random) -> Statement:
    return "REPLACE INTO tag VALUES (?, ?, 1)", (r.randint(1, 6), r.choice(["a", "b", "c", None]))


_WRITES: tuple[Callable[[random.Random], Statement], ...] = (
    _upsert_customer,
    _upsert_customer,
    _replace_customer,
    _move_customer,
    _remove_customer,
    _order,
    _order,
    _move_orders,
    _item,
    _item,
    _change_items,
    _remove_items,
    _tag,
)
