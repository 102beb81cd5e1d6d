"""The shop's business, as another process: `python -m headwater.app.demo.writer FILE SECONDS`.

It only knows the database. Inserts, updates, deletes, upserts, replacements and cascades, each in a
transaction; prints how many transactions it committed.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from headwater.app.demo.shop import (
    STATUSES,
    TIERS,
    add_customer,
    add_product,
    any_product,
    any_row,
    connect,
    place_order,
)

Action = Callable[[sqlite3.Connection, random.Random], None]


def write(path: Path, seconds: float, seed: int, per_second: float = 60.0) -> int:
    """Work for so long; returns the number of committed transactions."""
    chance = random.Random(f"writer {seed}")  # noqa: S311 - sample data, the same on every run
    actions, weights = zip(*_BUSINESS, strict=True)
    db = connect(path)
    done = 0
    began = time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            db.execute("BEGIN IMMEDIATE")
            chance.choices(actions, weights)[0](db, chance)
            db.execute("COMMIT")
            done += 1
            time.sleep(max(0.0, began + done / per_second - time.monotonic()))
    finally:
        db.close()
    return done


def _advance_order(db: sqlite3.Connection, chance: random.Random) -> None:
    found = any_row(db, chance, "orders", "id, status")
    if found is not None:
        place = STATUSES.index(found[1])
        following = STATUSES[min(place + 1, len(STATUSES) - 1)]
        db.execute("UPDATE orders SET status = ? WHERE id = ?", (following, found[0]))


def _change_tier(db: sqlite3.Connection, chance: random.Random) -> None:
    found = any_row(db, chance, "customers", "id, email")
    if found is not None:
        note = chance.choice((None, "prefers mail", "called twice", "naïve ☕ «quoted»"))
        db.execute(
            "UPDATE customers SET tier = ?, note = ? WHERE id = ?",
            (chance.choice(TIERS), note, found[0]),
        )


def _restock(db: sqlite3.Connection, chance: random.Random) -> None:
    """An upsert: a new price for a product that is there."""
    add_product(db, chance, *any_product(chance))


def _correct_line(db: sqlite3.Connection, chance: random.Random) -> None:
    """REPLACE: SQLite removes the old row without firing a delete trigger."""
    found = any_row(db, chance, "order_items", "order_id, line, sku, price")
    if found is not None:
        order, line, sku, price = found
        db.execute(
            "INSERT OR REPLACE INTO order_items VALUES (?, ?, ?, ?, ?)",
            (order, line, sku, chance.randint(1, 9), price),
        )


def _cancel_order(db: sqlite3.Connection, chance: random.Random) -> None:
    """The order's lines go with it."""
    found = any_row(db, chance, "orders", "id, status")
    if found is not None:
        db.execute("DELETE FROM orders WHERE id = ?", found[:1])


def _forget_customer(db: sqlite3.Connection, chance: random.Random) -> None:
    """The customer's orders and their lines go too."""
    found = any_row(db, chance, "customers", "id, email")
    if found is not None:
        db.execute("DELETE FROM customers WHERE id = ?", found[:1])


_BUSINESS: tuple[tuple[Action, int], ...] = (
    (place_order, 30),
    (_advance_order, 30),
    (_change_tier, 10),
    (add_customer, 8),
    (_restock, 8),
    (_correct_line, 8),
    (_cancel_order, 5),
    (_forget_customer, 1),
)


if __name__ == "__main__":
    path, seconds, seed = sys.argv[1:4]
    sys.stdout.write(f"{write(Path(path), float(seconds), int(seed))}\n")
