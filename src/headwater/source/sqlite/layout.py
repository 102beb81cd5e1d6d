"""The tables that capture keeps inside the user's database, and their SQL.

    _headwater_change     one row per change, in commit order; untyped, so storage classes survive
    _headwater_candidate  rows that a statement in progress may replace; see `guard`
    _headwater_capture    one row per generation of a table's triggers: how to read its changes
    _headwater_context    where an application says who acts and why
    _headwater_meta       format version, identity of this source, schema cookie

No table uses AUTOINCREMENT: it would leave `sqlite_sequence` behind for ever, and costs the writer
a second page write per change. Change ids still never repeat, because the newest change row cannot
be deleted (a trigger refuses) and SQLite numbers a new row after the newest.
"""

from __future__ import annotations

from collections.abc import Iterator

FORMAT = "1"

CHANGE = "_headwater_change"
CANDIDATE = "_headwater_candidate"
CAPTURE = "_headwater_capture"
CONTEXT = "_headwater_context"
META = "_headwater_meta"
TABLES = (CHANGE, CANDIDATE, CAPTURE, CONTEXT, META)

OP_INSERT = "i"
OP_UPDATE = "u"
OP_DELETE = "d"
OP_CONTEXT = "c"
OP_VOID = "v"  # folded into another change; the row stays, so that a missing number is a gap

CHANGE_FIXED_COLUMNS = 4

# Works in every SQLite. Half a millisecond is added because the day number, a double, can lie a
# few microseconds below the whole millisecond that it stands for, and CAST cuts off.
NOW_MS = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"


def old_columns(width: int) -> tuple[str, ...]:
    """Names of the before image's columns."""
    return tuple(f"o{number}" for number in range(1, width + 1))


def new_columns(width: int) -> tuple[str, ...]:
    """Names of the after image's columns."""
    return tuple(f"n{number}" for number in range(1, width + 1))


def create_tables(width: int) -> tuple[str, ...]:
    """SQL that makes every table of ours, with images `width` columns wide."""
    before = ", ".join(old_columns(width))
    after = ", ".join(new_columns(width))
    return (
        (
            f"CREATE TABLE {CHANGE} (change_id INTEGER PRIMARY KEY, "
            f"capture_no INTEGER, op, ts_ms, {before}, {after})"
        ),
        (
            f"CREATE TABLE {CANDIDATE} (slot INTEGER PRIMARY KEY, "
            f"capture_no INTEGER, ts_ms, settled, row_id, {before})"
        ),
        (
            f"CREATE TABLE {CAPTURE} (capture_no INTEGER PRIMARY KEY, table_name TEXT NOT NULL, "
            "columns TEXT NOT NULL, key_columns TEXT NOT NULL, follows INTEGER, "
            "trust TEXT NOT NULL, created_change_id INTEGER NOT NULL, retired_change_id INTEGER)"
        ),
        f"CREATE TABLE {CONTEXT} (context_id INTEGER PRIMARY KEY, context TEXT)",
        f"CREATE TABLE {META} (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
        (
            f"CREATE TRIGGER {CHANGE}_newest BEFORE DELETE ON {CHANGE} "
            f"WHEN OLD.change_id = (SELECT max(change_id) FROM {CHANGE}) "
            "BEGIN SELECT RAISE(ABORT, 'the newest captured change must stay'); END"
        ),
        (
            f"CREATE TRIGGER {CONTEXT}_marker AFTER INSERT ON {CONTEXT} BEGIN "
            f"INSERT INTO {CHANGE} (op, ts_ms, n1) VALUES ('{OP_CONTEXT}', {NOW_MS}, NEW.context); "
            f"DELETE FROM {CONTEXT} WHERE context_id = NEW.context_id; END"
        ),
    )


def widen_tables(width: int, wanted: int) -> Iterator[str]:
    """SQL that widens the images from `width` to `wanted` columns."""
    for number in range(width + 1, wanted + 1):
        yield f"ALTER TABLE {CHANGE} ADD COLUMN o{number}"
        yield f"ALTER TABLE {CHANGE} ADD COLUMN n{number}"
        yield f"ALTER TABLE {CANDIDATE} ADD COLUMN o{number}"
