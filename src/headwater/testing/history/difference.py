"""How two tables differ, in words that a failing test can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwater.event import encode_row

Row = Mapping[str, Any]

_SHOWN = 5


def difference(held: Iterable[Row], wanted: Iterable[Row], key: Sequence[str]) -> str:
    """The first keys that differ with both rows, or nothing at all if none does."""
    ours, theirs = _by_key(held, key), _by_key(wanted, key)
    wrong = sorted(each for each in ours.keys() | theirs.keys() if ours[each] != theirs[each])
    if not wrong:
        return ""
    lines = [f"{len(wrong)} of {len(ours.keys() | theirs.keys())} keys differ"]
    for each in wrong[:_SHOWN]:
        lines += [f"  {each}", *_sides("held", ours[each]), *_sides("wanted", theirs[each])]
    if len(wrong) > _SHOWN:
        lines.append(f"  and {len(wrong) - _SHOWN} more")
    return "\n".join(lines)


class _Tables(dict[str, Counter[str]]):
    def __missing__(self, key: str) -> Counter[str]:
        return Counter()


def _by_key(rows: Iterable[Row], key: Sequence[str]) -> _Tables:
    """The rows of each key as text; a key that is there twice has both."""
    found = _Tables()
    for row in rows:
        name = encode_row({column: row.get(column) for column in key})
        found[name] = found[name] + Counter([encode_row(row)])
    return found


def _sides(name: str, rows: Counter[str]) -> list[str]:
    return [f"    {name:>6}  {row}" for row in rows.elements()] or [f"    {name:>6}  no row"]
