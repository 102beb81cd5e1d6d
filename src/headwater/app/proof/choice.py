"""Which tables a proof is of: those that the log knows and Spark keeps with rows to compare.

The others are left out. But a name or glob that comes to nothing is a mistake: a proof of no table
would pass for a proof.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.spark.modes import Modes

_WHERE = "--tables"


def comparable(
    asked: Sequence[str], tables: Sequence[TableId], known: Collection[TableId], modes: Modes
) -> tuple[TableId, ...]:
    """The tables that can be compared; `tables` are those of the source that `asked` matches."""
    shown = tuple(table for table in tables if table in known and modes.standing(table))
    if not asked:
        raise ConfigError("verify-no-target", "no table is named", where=_WHERE)
    for pattern in asked:
        if not any(table.matches((pattern,)) for table in shown):
            matched = [table for table in tables if table.matches((pattern,))]
            raise _nothing(pattern, matched, known, modes)
    return shown


def _nothing(
    pattern: str, tables: Sequence[TableId], known: Collection[TableId], modes: Modes
) -> ConfigError:
    """Why nothing that a name or glob matches can be compared."""
    if not tables:
        return ConfigError(
            "table-unknown", f"what matches {pattern!r} is left out by source.exclude", where=_WHERE
        )
    there = [table for table in tables if table in known]
    if not there:
        return ConfigError(
            "table-unknown",
            f"the log knows no table that matches {pattern!r}",
            where=_WHERE,
            hint="have it captured: headwater run FILE",
        )
    if not any(modes.of(table) for table in there):
        return ConfigError(
            "verify-no-target",
            f"Spark keeps no table that matches {pattern!r}",
            where=_WHERE,
            hint="see spark.tables and spark.on_no_key",
        )
    return ConfigError(
        "verify-no-target",
        f"what matches {pattern!r} is kept as append logs, which hold events and no rows to"
        " compare",
        where=_WHERE,
        hint="keep a mirror beside them: spark.modes.mirror",
    )
