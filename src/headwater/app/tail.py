"""Reading a log as it grows, for people: filtered by table and key, from a place of their choice.

It reads beside everyone else and has no cursor of its own, so it never holds retention back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.app.registry import open_log
from headwater.errors import ConfigError
from headwater.event import Event, EventBatch
from headwater.transform import KeepTables

if TYPE_CHECKING:
    from headwater.contract import LogBounds, LogReader

LAST_EVENTS = 20
_POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class TailQuery:
    """What to show. `start` is a sequence number, `earliest`, `latest`, or None: the last few."""

    table: str | None = None
    key: str | None = None
    start: str | None = None
    follow: bool = False
    limit: int | None = None


def tail(path: Path, query: TailQuery) -> Iterator[Event]:
    """Matching events in order; with `follow` it waits for more until it is closed."""
    return islice(_matching(path, query), query.limit)


def _matching(path: Path, query: TailQuery) -> Iterator[Event]:
    wanted = _parse_key(query.key)
    of_table = KeepTables(keep=(query.table or "*",))
    reader = open_log(path).reader()
    try:
        after = _place(reader.bounds(), query)
        for batch in _batches(reader, after, follow=query.follow):
            yield from (event for event in of_table(batch) if _has_key(event, wanted))
    finally:
        reader.close()


def _batches(reader: LogReader, after: int, *, follow: bool) -> Iterator[EventBatch]:
    while True:
        for batch in reader.read(after):
            yield batch
            after = batch.last_sequence
        if not follow:
            return
        while reader.bounds().head <= after:
            time.sleep(_POLL_S)


def _place(bounds: LogBounds, query: TailQuery) -> int:
    """The sequence number after which to read."""
    match query.start:
        case "earliest":
            return bounds.tail - 1
        case "latest":
            return bounds.head
        case None:
            filtered = query.table is not None or query.key is not None
            last = bounds.tail - 1 if filtered else bounds.head - LAST_EVENTS
            return max(last, bounds.tail - 1)
        case text if text.isdigit():
            return max(int(text) - 1, 0)
        case text:
            raise ConfigError(
                "tail-start",
                f"{text!r} is not a place in the log",
                hint="use --from earliest, --from latest or --from SEQUENCE",
            )


def _parse_key(text: str | None) -> dict[str | None, str]:
    """`17` matches a key of one column; `order_id=1,line=2` names its columns."""
    if text is None:
        return {}
    if "=" not in text:
        return {None: text}
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _has_key(event: Event, wanted: dict[str | None, str]) -> bool:
    if not wanted:
        return True
    return any(_matches(key, wanted) for key in (event.key(), event.old_key()) if key)


def _matches(key: dict[str, object], wanted: dict[str | None, str]) -> bool:
    if None in wanted:
        return [str(value) for value in key.values()] == [wanted[None]]
    return all(name in key and str(key[name]) == value for name, value in wanted.items() if name)
