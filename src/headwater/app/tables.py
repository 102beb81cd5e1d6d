"""Table patterns against the tables that there are: a pattern that matches nothing is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from headwater.app.suggest import closest
from headwater.errors import ConfigError


def choose_tables(
    patterns: Sequence[str], exclude: Sequence[str], known: Iterable[str], where: str = ""
) -> tuple[str, ...]:
    """The known tables that match a pattern and no exclusion, in their own order."""
    names = list(known)
    for pattern in patterns:
        if not any(_matches(name, [pattern]) for name in names):
            raise _unmatched(pattern, names, where)
    return tuple(name for name in names if _matches(name, patterns) and not _matches(name, exclude))


def require_names(patterns: Sequence[str], known: Iterable[str], where: str = "") -> None:
    """A plain name must be a table; a glob may wait for tables that come later."""
    names = list(known)
    for pattern in patterns:
        if not set(pattern) & set("*?[") and not _matches(pattern, names):
            raise _unmatched(pattern, names, where)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Without regard to case, as SQLite compares names."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _unmatched(pattern: str, names: list[str], where: str) -> ConfigError:
    if not names:
        return ConfigError(
            "table-unknown",
            "the database has no tables to capture",
            where=where,
            hint="create the application's tables first",
        )
    near = closest(pattern.strip("*?"), names)
    listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
    return ConfigError(
        "table-unknown",
        f"no table matches {pattern!r}; there are: {listed}",
        where=where,
        hint=f"did you mean {near}?" if near else "",
    )
