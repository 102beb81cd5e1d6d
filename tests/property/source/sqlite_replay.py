"""The oracle: captured changes, replayed strictly onto the rows at the start, give the rows now."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from headwater.source.sqlite.generation import Generation, read_installed
from headwater.source.sqlite.identifiers import quote

Row = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Change:
    change_id: int
    table: str
    op: str
    before: Row | None
    after: Row | None


def typed(values: tuple[object, ...]) -> Row:
    """Values with their class: 1, 1.0 and True are equal in Python but not the same here."""
    return tuple((type(value).__name__, value) for value in values)


def rows(connection: sqlite3.Connection, table: str) -> list[Row]:
    names = [r[1] for r in connection.execute(f"PRAGMA table_xinfo({quote(table)})")]
    columns = ", ".join(quote(name) for name in names)
    found = connection.execute(f"SELECT {columns} FROM {quote(table)}").fetchall()
    return sorted((typed(row) for row in found), key=repr)


def changes(connection: sqlite3.Connection, *, after: int = 0) -> list[Change]:
    installed = read_installed(connection)
    assert installed is not None
    generations = {g.capture_no: g for g in installed.generations}
    names = ", ".join(
        f"{side}{number}" for side in "on" for number in range(1, installed.width + 1)
    )
    found = connection.execute(
        f"SELECT change_id, capture_no, op, {names} FROM _headwater_change "
        "WHERE change_id > ? AND op NOT IN ('c', 'v') ORDER BY change_id",
        (after,),
    ).fetchall()
    return [_change(row, generations[row[1]], installed.width) for row in found]


def _change(row: tuple[object, ...], generation: Generation, width: int) -> Change:
    count = len(generation.columns)
    old, new = row[3 : 3 + count], row[3 + width : 3 + width + count]
    op = str(row[2])
    return Change(
        change_id=int(str(row[0])),
        table=generation.table,
        op=op,
        before=typed(old) if op in "ud" else None,
        after=typed(new) if op in "iu" else None,
    )


def replay(
    start: list[Row], captured: list[Change], key: tuple[int, ...], *, whole: bool = True
) -> list[Row]:
    """Apply each change; a missing row or a doubled key is an error.

    Rows are found by their whole before image, or, where `whole` is false, by their key.
    """
    held = list(start)
    for change in captured:
        if change.before is not None:
            held.remove(_find(held, change, () if whole else key))
        if change.after is not None:
            held.append(change.after)
            keys = [tuple(row[i] for i in key) for row in held]
            complete = [k for k in keys if all(kind != "NoneType" for kind, _ in k)]
            assert not key or len(set(complete)) == len(complete), f"{change} doubles a key"
    return sorted(held, key=repr)


def _find(held: list[Row], change: Change, key: tuple[int, ...]) -> Row:
    before = change.before
    assert before is not None
    parts = key or range(len(before))
    found = [row for row in held if all(row[i] == before[i] for i in parts)]
    assert found, f"{change} removes a row that is not there: {held}"
    return found[0]
