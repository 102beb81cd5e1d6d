"""What happened in the database, told by the server itself: another slot, another decoder.

`test_decoding` ships with PostgreSQL and shares nothing with the decoder under test. Its slot is
made before the application starts, and nobody reads it before the end.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.chaos.postgres_workload import KEYS, UNWANTED
from tests.fix_postgres import PostgresDatabase

Row = dict[str, Any]
Key = tuple[Any, ...]
Rows = dict[str, dict[Key, Row]]

_CHANGE = re.compile(r"table (?P<tables>.+?): (?P<op>INSERT|UPDATE|DELETE|TRUNCATE):")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one table, in the order of commits."""

    xid: int
    table: str
    op: str


def watch(database: PostgresDatabase) -> None:
    """Have the server remember from here on."""
    sql = "SELECT pg_create_logical_replication_slot(%s, 'test_decoding')"
    database.sql(sql, f"{database.name}_truth", user="postgres")


def changes(database: PostgresDatabase) -> list[Change]:
    """Every committed change of the wanted tables since `watch`."""
    sql = "SELECT xid::text, data FROM pg_logical_slot_peek_changes(%s, NULL, NULL)"
    found: list[Change] = []
    for xid, text in database.sql(sql, f"{database.name}_truth", user="postgres"):
        match = _CHANGE.match(text)
        if match is None:
            continue
        for name in match["tables"].split(", "):
            table = name.removeprefix("public.")
            if table != UNWANTED:
                found.append(Change(int(xid), table, match["op"]))
    return found


def rows(database: PostgresDatabase) -> Rows:
    """Every row now, with values as the event images spell them."""
    return {table: _rows_of(database, table) for table in KEYS}


def _rows_of(database: PostgresDatabase, table: str) -> dict[Key, Row]:
    with database.connect() as db:
        cursor = db.execute(f"SELECT * FROM {table}".encode())
        names = [column.name for column in cursor.description or ()]
        found = [dict(zip(names, map(_plain, values), strict=True)) for values in cursor]
    return {tuple(row[name] for name in KEYS[table]): row for row in found}


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value
