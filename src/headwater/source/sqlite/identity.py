"""Which row of its table a row is: by rowid, or by the key where there is no rowid."""

from __future__ import annotations

from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.introspect import Table
from headwater.source.sqlite.layout import CANDIDATE, old_columns


def has_identity(table: Table) -> bool:
    """Whether a row can be named in SQL while it stands."""
    return table.rowid_name is not None or table.without_rowid


def same_row(table: Table, columns: tuple[str, ...], left: str, right: str) -> str:
    """SQL: two of OLD, NEW, `held` and the candidate table are the same row of the table."""
    rowid = table.rowid_name
    if rowid is not None:
        return f"{_rowid(left, rowid)} = {_rowid(right, rowid)}"
    primary = next(index for index in table.unique if index.primary)
    images = dict(zip(columns, old_columns(len(columns)), strict=True))
    return " AND ".join(
        f"{_part(left, term.column, images)} COLLATE {quote(term.collation)} = "
        f"{_part(right, term.column, images)}"
        for term in primary.terms
        if term.column is not None
    )


def _rowid(side: str, name: str) -> str:
    return f"{CANDIDATE}.row_id" if side == CANDIDATE else f"{side}.{quote(name)}"


def _part(side: str, column: str, images: dict[str, str]) -> str:
    return f"{CANDIDATE}.{images[column]}" if side == CANDIDATE else f"{side}.{quote(column)}"
