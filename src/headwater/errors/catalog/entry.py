"""What a code means and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """One error code."""

    code: str
    meaning: str
    fix: str


def section(*rows: tuple[str, str, str]) -> dict[str, CodeEntry]:
    """Entries by code, from (code, meaning, fix)."""
    return {code: CodeEntry(code, meaning, fix) for code, meaning, fix in rows}
