"""Changes on the screen: green plus, red minus, yellow tilde; ∅ is NULL, ⋯ was not sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from headwater.app.changes import Absent, Change, ColumnChange
from headwater.cli.text import printable, shortened
from headwater.event import Operation

NULL = "∅"
UNAVAILABLE = "⋯"
_VALUE_WIDTH = 48
_MARKS = {
    Operation.INSERT: ("+", "green"),
    Operation.READ: ("+", "green"),
    Operation.UPDATE: ("~", "yellow"),
    Operation.DELETE: ("\N{MINUS SIGN}", "red"),
    Operation.TRUNCATE: ("\N{MULTIPLICATION SIGN}", "red"),
    Operation.SCHEMA_CHANGE: ("#", "magenta"),
    Operation.MESSAGE: ("»", "cyan"),
}


def line(change: Change) -> Text:
    """The change on one line: number, time, mark, table, key, columns."""
    mark, style = _MARKS[change.op]
    text = Text()
    text.append(f"{change.sequence:>8}  {_clock(change.ts_ms)}  ", style="dim")
    text.append(f"{mark} {_subject(change)}", style=style)
    text.append(f"  {_key(change)}", style="bold")
    shown = [each for each in change.columns if each.name not in (change.key or {})]
    for index, column in enumerate(shown):
        text.append("  " if index == 0 else ", ")
        text.append(f"{printable(column.name)}=", style="dim")
        text.append_text(_columns_text(change, column))
    return text


def block(change: Change) -> Text:
    """The change as a small diff: a head line, and one line for each column that differs."""
    mark, style = _MARKS[change.op]
    text = Text()
    text.append(f"{mark} {_subject(change)}", style=style)
    text.append(f"  {_key(change)}", style="bold")
    snapshot = "snapshot · " if change.op is Operation.READ else ""
    transaction = f" · tx {change.tx_id}" if change.tx_id is not None else ""
    clock = _clock(change.ts_ms)
    text.append(f"   {snapshot}#{change.sequence}{transaction} · {clock}", style="dim")
    shown = [each for each in change.columns if _worth_a_line(change, each)]
    width = max((len(printable(each.name)) for each in shown), default=0)
    for column in shown:
        text.append(f"\n    {printable(column.name):<{width}}  ")
        text.append_text(_columns_text(change, column))
    return text


def as_plain(change: Change) -> dict[str, Any]:
    """The change for `--json`; unavailable columns are listed, never null."""
    missing = [each.name for each in change.columns if each.after is Absent.UNAVAILABLE]
    return {
        "sequence": change.sequence,
        "ts_ms": change.ts_ms,
        "op": change.op.label,
        "table": change.table,
        "key": change.key,
        "before": _image(change, "before"),
        "after": _image(change, "after"),
        "unavailable": missing,
        "tx_id": change.tx_id,
    }


def value_text(value: Any) -> str:
    """One value on one line: safe for the terminal, and short."""
    if value is None:
        return NULL
    if value is Absent.UNAVAILABLE:
        return UNAVAILABLE
    if isinstance(value, str):
        return shortened(printable(value), _VALUE_WIDTH) if value else '""'
    return shortened(printable(json.dumps(value, ensure_ascii=False)), _VALUE_WIDTH)


def _columns_text(change: Change, column: ColumnChange) -> Text:
    before, after = column.before, column.after
    text = Text()
    if change.op is Operation.DELETE:
        return text.append(value_text(before), style="red")
    if before is Absent.NOTHING:
        return text.append(value_text(after), style="green")
    if not column.differs:
        return text.append(value_text(after))
    text.append(value_text(before), style="red")
    text.append(" → ", style="dim")
    if after is Absent.NOTHING:
        return text.append("gone", style="dim")
    return text.append(value_text(after), style="green")


def _subject(change: Change) -> str:
    """The table; a message has none."""
    return printable(change.table) or change.op.label


def _worth_a_line(change: Change, column: ColumnChange) -> bool:
    in_key = change.key is not None and column.name in change.key
    return not in_key or (change.op is Operation.UPDATE and column.differs)


def _key(change: Change) -> str:
    if change.key is None:
        return ""
    return ", ".join(f"{printable(name)}={value_text(v)}" for name, v in change.key.items())


def _clock(ts_ms: int) -> str:
    return datetime.fromtimestamp(ts_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]


def _image(change: Change, side: str) -> dict[str, Any] | None:
    values = {each.name: getattr(each, side) for each in change.columns}
    return {name: v for name, v in values.items() if not isinstance(v, Absent)} or None
