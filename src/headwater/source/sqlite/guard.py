"""Rows that REPLACE removes: seen although SQLite fires no delete trigger for them.

INSERT OR REPLACE, UPDATE OR REPLACE and ON CONFLICT REPLACE remove rows silently unless the writer
set `recursive_triggers`. So before a row goes in, every row that it collides with is copied to the
candidate table. Whether the collision ends in a replacement, an error, an ignored row or an upsert
is not known then, and need not be guessed, because of one invariant:

    A candidate of this instant is a copy of a row that stands in the table.

Deletes and updates that do fire triggers keep it true by removing or refreshing the copy. Hence
when a change of the table finds a candidate whose original is no longer there (or whose place the
new row has taken), a replacement removed it, and a delete is written first.

"This instant" is SQLite's `now`, which stands still within one statement however deep its triggers
nest. Copies of other instants are leftovers of rows that did not go in; they are never used, and
they are swept out by the next collision. A statement that collides many times in one instant
(a bulk INSERT OR IGNORE) keeps only the newest few copies, so the candidate table stays tiny.

Most tables are quiet: between a collision and its outcome nothing else happens to them, and a copy
can be dropped as soon as its row is updated. Where foreign-key actions or the application's own
triggers may act in between (`Table.disturbed`), copies are refreshed instead; and a candidate whose
delete was written is marked as settled, because those actions run before delete triggers, so a
delete trigger for the very same row may still follow and must not record it twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.identity import same_row
from headwater.source.sqlite.introspect import IndexTerm, Table, TableColumn, UniqueIndex
from headwater.source.sqlite.layout import CANDIDATE, CHANGE, NOW_MS, OP_DELETE, old_columns

# How many nested statements on one table may have collisions pending at the same time.
_NESTING = 4


def guard_triggers(
    table: Table, capture_no: int, columns: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Name suffix and SQL after the name, of each trigger; none where no row can be replaced."""
    if not needs_guard(table):
        return
    guard = _Guard(table, capture_no, columns)
    yield "before_insert", guard.before_insert()
    yield "before_update", guard.before_update()
    yield "settle_insert", guard.settle_insert()
    yield "settle_update", guard.settle_update()
    yield "settle_delete", guard.settle_delete()


def needs_guard(table: Table) -> bool:
    """Whether any row of the table can be in the way of another."""
    return table.rowid_name is not None or bool(table.unique)


def settled_before(table: Table, capture_no: int, columns: tuple[str, ...]) -> str | None:
    """SQL: the delete of OLD was recorded already; None where that cannot happen."""
    if not (table.disturbed and needs_guard(table)):
        return None
    return (
        f"EXISTS (SELECT 1 FROM {CANDIDATE} WHERE {CANDIDATE}.capture_no = {capture_no} "
        f"AND {CANDIDATE}.ts_ms = {NOW_MS} AND {CANDIDATE}.settled = 1 "
        f"AND {same_row(table, columns, CANDIDATE, 'OLD')})"
    )


class _Guard:
    """SQL pieces for one generation of one table's triggers."""

    def __init__(self, table: Table, capture_no: int, columns: tuple[str, ...]) -> None:
        self._table = table
        self._columns = columns
        self._images = old_columns(len(columns))
        self._mine = f"{CANDIDATE}.capture_no = {capture_no}"
        self._current = f"{self._mine} AND {CANDIDATE}.ts_ms = {NOW_MS}"
        self._open = f"{self._current} AND {CANDIDATE}.settled = 0"
        self._capture_no = capture_no
        self._name = quote(table.name)

    def before_insert(self) -> str:
        """Copy the rows that an incoming row collides with."""
        collisions = list(self._collisions())
        seen = " OR ".join(self._exists(collision) for _, collision in collisions)
        copies = " ".join(self._copy(collision) for _, collision in collisions)
        return f"BEFORE INSERT ON {self._name} WHEN {seen} BEGIN {self._sweep()} {copies} END"

    def before_update(self) -> str:
        """Copy the rows, other than itself, that a row's new version collides with."""
        apart = f"NOT ({self._same('held', 'OLD')})"
        collisions = [
            (changed, f"{collision} AND {apart}") for changed, collision in self._collisions()
        ]
        seen = " OR ".join(
            f"({changed}) AND {self._exists(collision)}" if changed else self._exists(collision)
            for changed, collision in collisions
        )
        copies = " ".join(self._copy(collision) for _, collision in collisions)
        return f"BEFORE UPDATE ON {self._name} WHEN {seen} BEGIN {self._sweep()} {copies} END"

    def settle_insert(self) -> str:
        """Write the deletes that an insert caused."""
        replaced = f"{self._same(CANDIDATE, 'NEW')} OR {self._vanished()}"
        return self._after("INSERT", self._settle(replaced), *self._reopen())

    def settle_update(self) -> str:
        """Write the deletes that an update caused, and keep the copy of the row itself true."""
        own = self._same(CANDIDATE, "OLD")
        replaced = f"NOT ({own}) AND ({self._same(CANDIDATE, 'NEW')} OR {self._vanished()})"
        keep = self._refresh(own) if self._table.disturbed else self._forget("OLD", settled=0)
        return self._after("UPDATE", self._settle(replaced), *self._reopen(), keep)

    def settle_delete(self) -> str:
        """Forget the copy of a deleted row, and write the deletes that its absence reveals."""
        forget = self._forget("OLD", settled=0)
        if not self._table.disturbed:
            return self._after("DELETE", forget)
        replaced = f"NOT ({self._same(CANDIDATE, 'OLD')}) AND {self._vanished()}"
        return self._after("DELETE", self._settle(replaced), forget)

    def _after(self, event: str, *statements: str) -> str:
        pending = f"WHEN EXISTS (SELECT 1 FROM {CANDIDATE} WHERE {self._current})"
        return f"AFTER {event} ON {self._name} {pending} BEGIN {' '.join(statements)} END"

    def _settle(self, replaced: str) -> str:
        images = ", ".join(self._images)
        which = f"WHERE {self._open} AND ({replaced})"
        settled = f"UPDATE {CANDIDATE} SET settled = 1 {which};"
        return (
            f"INSERT INTO {CHANGE} (capture_no, op, ts_ms, {images}) "
            f"SELECT {self._capture_no}, '{OP_DELETE}', {NOW_MS}, {images} "
            f"FROM {CANDIDATE} {which}; "
            + (settled if self._table.disturbed else f"DELETE FROM {CANDIDATE} {which};")
        )

    def _reopen(self) -> tuple[str, ...]:
        """A row has taken the place of a settled one: its delete, if any comes, is a new one."""
        return (self._forget("NEW", settled=1),) if self._table.disturbed else ()

    def _refresh(self, own: str) -> str:
        fresh = [
            f"{image} = NEW.{quote(column)}"
            for image, column in zip(self._images, self._columns, strict=True)
        ]
        if self._table.rowid_name is not None:
            fresh.append(f"row_id = NEW.{quote(self._table.rowid_name)}")
        return f"UPDATE {CANDIDATE} SET {', '.join(fresh)} WHERE {self._open} AND {own};"

    def _forget(self, side: str, *, settled: int) -> str:
        return (
            f"DELETE FROM {CANDIDATE} WHERE {self._mine} AND settled = {settled} "
            f"AND {self._same(CANDIDATE, side)};"
        )

    def _sweep(self) -> str:
        kept = _NESTING * (len(self._table.unique) + 1)
        surplus = (
            f"(SELECT slot FROM {CANDIDATE} WHERE {self._mine} "
            f"ORDER BY slot DESC LIMIT 1 OFFSET {kept})"
        )
        return (
            f"DELETE FROM {CANDIDATE} WHERE ts_ms <> {NOW_MS} "
            f"OR ({self._mine} AND slot <= {surplus});"
        )

    def _copy(self, collision: str) -> str:
        images = ", ".join(self._images)
        values = ", ".join(f"held.{quote(column)}" for column in self._columns)
        rowid = self._table.rowid_name
        row_id = "NULL" if rowid is None else f"held.{quote(rowid)}"
        known = f"SELECT 1 FROM {CANDIDATE} WHERE {self._mine} AND {self._same(CANDIDATE, 'held')}"
        return (
            f"INSERT INTO {CANDIDATE} (capture_no, ts_ms, settled, row_id, {images}) "
            f"SELECT {self._capture_no}, {NOW_MS}, 0, {row_id}, {values} "
            f"FROM {self._name} AS held WHERE {collision} AND NOT EXISTS ({known});"
        )

    def _exists(self, collision: str) -> str:
        return f"EXISTS (SELECT 1 FROM {self._name} AS held WHERE {collision})"

    def _vanished(self) -> str:
        return f"NOT {self._exists(self._same('held', CANDIDATE))}"

    def _same(self, left: str, right: str) -> str:
        return same_row(self._table, self._columns, left, right)

    def _collisions(self) -> Iterator[tuple[str, str]]:
        """For each constraint: whether an update can touch it at all, and the collision."""
        rowid = self._table.rowid_name
        if rowid is not None:
            column = quote(rowid)
            yield f"NEW.{column} IS NOT OLD.{column}", f"held.{column} = NEW.{column}"
        for index in self._table.unique:
            yield _touched(index), " AND ".join(self._collision(index))

    def _collision(self, index: UniqueIndex) -> Iterator[str]:
        for term in index.terms:
            collate = f"COLLATE {quote(term.collation)}"
            if term.column is not None:
                column = self._table.column(term.column)
                incoming = _incoming(column) if column else f"NEW.{quote(term.column)}"
                yield f"held.{quote(term.column)} {collate} = {incoming}"
            else:
                yield f"({term.expression}) {collate} = ({self._evaluated(term)})"
        if index.where is not None:
            yield f"({index.where})"

    def _evaluated(self, term: IndexTerm) -> str:
        """The expression over the incoming row: a row of the same column names stands in."""
        row = ", ".join(
            f"{_incoming(column)} AS {quote(column.name)}" for column in self._table.columns
        )
        return f"SELECT {term.expression} FROM (SELECT {row})"


def _touched(index: UniqueIndex) -> str:
    """Empty where only the constraint itself can tell (partial and expression indexes)."""
    if not index.plain:
        return ""
    columns = (quote(term.column) for term in index.terms if term.column is not None)
    return " OR ".join(f"NEW.{column} COLLATE BINARY IS NOT OLD.{column}" for column in columns)


def _incoming(column: TableColumn) -> str:
    """The value that will be stored: REPLACE puts the default where NOT NULL meets a NULL."""
    value = f"NEW.{quote(column.name)}"
    if column.not_null and column.default is not None and not column.generated:
        return f"ifnull({value}, ({column.default}))"
    return value
