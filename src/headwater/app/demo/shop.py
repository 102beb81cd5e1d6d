"""A shop in a SQLite file: four tables with foreign keys, filled the same way for the same seed."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

TABLES = ("customers", "products", "orders", "order_items")
TIERS = ("bronze", "silver", "gold")
STATUSES = ("placed", "paid", "packed", "shipped", "delivered")

_SCHEMA = """
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  tier TEXT NOT NULL DEFAULT 'bronze',
  note TEXT
);
CREATE TABLE products (
  sku TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  price REAL NOT NULL,
  stock INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE,
  status TEXT NOT NULL,
  total REAL NOT NULL,
  placed_at TEXT NOT NULL
);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  line INTEGER NOT NULL,
  sku TEXT NOT NULL REFERENCES products (sku),
  quantity INTEGER NOT NULL,
  price REAL NOT NULL,
  PRIMARY KEY (order_id, line)
);
"""

_FIRST = ("Ada", "Björn", "Chen", "Dalia", "Emeka", "Fatima", "Goran", "Hana", "Ines", "Jun")
_LAST = ("Okafor", "Novák", "Silva", "Tanaka", "Weiß", "Haddad", "Larsen", "Moreau", "Rossi", "Ito")
_THINGS = ("lamp", "kettle", "chair", "rug", "clock", "vase", "shelf", "mirror", "stool", "bowl")
_COLOURS = ("red", "blue", "green", "white", "black", "oak")


def connect(path: Path) -> sqlite3.Connection:
    """A connection as an application opens it: foreign keys on, patient with other writers."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    return db


def create_shop(path: Path, seed: int = 7, customers: int = 200) -> int:
    """Make the database and its first rows; returns how many rows it has."""
    chance = random.Random(seed)  # noqa: S311 - sample data, the same on every run
    db = connect(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        for colour in _COLOURS:
            for thing in _THINGS:
                add_product(db, chance, colour, thing)
        for _ in range(customers):
            add_customer(db, chance)
        for _ in range(customers * 3):
            place_order(db, chance)
        db.execute("COMMIT")
        return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES)
    finally:
        db.close()


def add_product(db: sqlite3.Connection, chance: random.Random, colour: str, thing: str) -> None:
    """One product, or a new price for it."""
    db.execute(
        "INSERT INTO products VALUES (?, ?, ?, ?) ON CONFLICT (sku) DO UPDATE"
        " SET price = excluded.price, stock = stock + excluded.stock",
        (
            f"{thing}-{colour}",
            f"{colour} {thing}",
            round(chance.uniform(4, 250), 2),
            chance.randint(50, 500),
        ),
    )


def any_row(
    db: sqlite3.Connection, chance: random.Random, table: str, columns: str
) -> tuple[Any, ...] | None:
    """Columns of some row, the same one for the same seed and state; None in an empty table."""
    (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    if not count:
        return None
    query = f"SELECT {columns} FROM {table} ORDER BY 1, 2 LIMIT 1 OFFSET ?"
    found: tuple[Any, ...] = db.execute(query, (chance.randrange(count),)).fetchone()
    return found


def any_product(chance: random.Random) -> tuple[str, str]:
    """Colour and thing of some product."""
    return chance.choice(_COLOURS), chance.choice(_THINGS)


def add_customer(db: sqlite3.Connection, chance: random.Random) -> None:
    """One customer, or a new tier for a known address."""
    first, last = chance.choice(_FIRST), chance.choice(_LAST)
    email = f"{first}.{last}.{chance.randrange(10**9)}@shop.example".lower()
    db.execute(
        "INSERT INTO customers (email, name, tier) VALUES (?, ?, ?)"
        " ON CONFLICT (email) DO UPDATE SET tier = excluded.tier",
        (email, f"{first} {last}", chance.choice(TIERS)),
    )


def place_order(db: sqlite3.Connection, chance: random.Random) -> None:
    """An order with its lines; the stock goes down."""
    customer = any_row(db, chance, "customers", "id, email")
    if customer is None:
        return
    lines = [
        (f"{thing}-{colour}", chance.randint(1, 4), round(chance.uniform(4, 250), 2))
        for colour, thing in (any_product(chance) for _ in range(chance.randint(1, 4)))
    ]
    total = round(sum(quantity * price for _, quantity, price in lines), 2)
    order = db.execute(
        "INSERT INTO orders (customer_id, status, total, placed_at)"
        " VALUES (?, 'placed', ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) RETURNING id",
        (customer[0], total),
    ).fetchone()[0]
    for number, (sku, quantity, price) in enumerate(lines, start=1):
        db.execute(
            "INSERT INTO order_items VALUES (?, ?, ?, ?, ?)", (order, number, sku, quantity, price)
        )
        db.execute("UPDATE products SET stock = stock - ? WHERE sku = ?", (quantity, sku))
