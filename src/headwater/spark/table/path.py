"""Where a table lives below the target folder."""

from __future__ import annotations

from urllib.parse import quote

from headwater.event import TableId
from headwater.spark.modes import Mode


def table_path(target: str, table: TableId, mode: Mode = "mirror") -> str:
    """A folder per table and mode, `orders` for the mirror and `orders@scd2` beside it.

    Names are the database's, so they are escaped, `@` too, and never trusted as paths.
    """
    name = quote(str(table), safe="")
    folder = name.replace(".", "%2E") if set(name) <= {"."} else name
    return f"{target.rstrip('/')}/{folder}{'' if mode == 'mirror' else f'@{mode}'}"
