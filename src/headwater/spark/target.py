"""Where a table lives below the target folder."""

from __future__ import annotations

from urllib.parse import quote

from headwater.event import TableId


def table_path(target: str, table: TableId) -> str:
    """A folder per table; names are the database's, so they are escaped, never trusted as paths."""
    name = quote(str(table), safe="")
    return f"{target.rstrip('/')}/{name.replace('.', '%2E') if set(name) <= {'.'} else name}"
