"""Where a table lives below the target folder."""

from __future__ import annotations

from urllib.parse import quote, unquote

from headwater.event import TableId
from headwater.spark.modes import MODES, Mode


def table_path(target: str, table: TableId, mode: Mode = "mirror") -> str:
    """A folder per table and mode, `orders` for the mirror and `orders@scd2` beside it.

    Names are the database's, so they are escaped, `@` too, and never trusted as paths.
    """
    name = quote(str(table), safe="")
    folder = name.replace(".", "%2E") if set(name) <= {"."} else name
    return f"{target.rstrip('/')}/{folder}{'' if mode == 'mirror' else f'@{mode}'}"


def table_of(folder: str) -> tuple[TableId, Mode]:
    """The table and mode of a folder; the name is not taken apart, for it may have dots."""
    name, _, mode = folder.partition("@")
    return TableId(None, unquote(name)), next((each for each in MODES if each == mode), "mirror")
