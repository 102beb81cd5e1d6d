"""Table patterns against the tables that there are: a pattern that matches nothing is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.app.suggest import closest
from headwater.errors import ConfigError
from headwater.event import TableId


def choose_tables(
    patterns: Sequence[str], exclude: Sequence[str], known: Iterable[TableId], where: str = ""
) -> tuple[TableId, ...]:
    """The known tables that match a pattern and no exclusion, in their own order."""
    tables = list(known)
    for pattern in patterns:
        if not any(table.matches([pattern]) for table in tables):
            raise _unmatched(pattern, tables, where)
    return tuple(
        table for table in tables if table.matches(patterns) and not table.matches(exclude)
    )


def require_names(patterns: Sequence[str], known: Iterable[TableId], where: str = "") -> None:
    """A plain name must be a table; a glob may wait for tables that come later."""
    tables = list(known)
    for pattern in patterns:
        plain = not set(pattern) & set("*?[")
        if plain and not any(table.matches([pattern]) for table in tables):
            raise _unmatched(pattern, tables, where)


def _unmatched(pattern: str, tables: list[TableId], where: str) -> ConfigError:
    names = [str(table) for table in tables]
    if not names:
        return ConfigError(
            "table-unknown",
            "the database has no tables to capture",
            where=where,
            hint="create the application's tables first",
        )
    bare = pattern.strip("*?")
    near = closest(bare, names if "." in bare else [table.name for table in tables])
    listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
    return ConfigError(
        "table-unknown",
        f"no table matches {pattern!r}; there are: {listed}",
        where=where,
        hint=f"did you mean {near}?" if near else "",
    )
