"""Golden files: the envelopes that a replay must give, and what differs from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headwater.event import ENVELOPE_VERSION, Event

ABSENT = "(absent)"
Envelope = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a replay is not as the golden file: which event, which member, both values."""

    event: int
    path: str
    golden: Any
    replayed: Any


def envelopes(events: Iterable[Event]) -> list[Envelope]:
    """The events as golden files hold them: the canonical envelope in plain JSON values."""
    return [_envelope(event) for event in events]


def differences(golden: Sequence[Any], replayed: Sequence[Any]) -> tuple[Difference, ...]:
    """Where they differ, event by event. Types count: 1 is neither 1.0 nor true."""
    found: list[Difference] = []
    for index in range(max(len(golden), len(replayed))):
        pair = (_at(golden, index), _at(replayed, index))
        found += [Difference(index, *told) for told in _compared("", *pair)]
    return tuple(found)


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def _compared(path: str, golden: Any, replayed: Any) -> Iterator[tuple[str, Any, Any]]:
    if type(golden) is dict and type(replayed) is dict:
        for name in sorted(golden.keys() | replayed.keys()):
            pair = (golden.get(name, ABSENT), replayed.get(name, ABSENT))
            yield from _compared(f"{path}.{name}".lstrip("."), *pair)
    elif type(golden) is list and type(replayed) is list and len(golden) == len(replayed):
        for place, pair in enumerate(zip(golden, replayed, strict=True)):
            yield from _compared(f"{path}[{place}]", *pair)
    elif type(golden) is not type(replayed) or golden != replayed:
        yield path, golden, replayed


def _envelope(event: Event) -> Envelope:
    said: Envelope = {
        "before": event.before,
        "after": event.after,
        "op": event.op.label,
        "source": {
            "source_name": event.source.source_name,
            "offset": event.source.offset,
            "timestamp": event.source.timestamp_ms,
        },
        "ts": event.ts_ms,
        "schema": event.schema,
        "table": event.table,
        "primary_key": None if event.primary_key is None else list(event.primary_key),
        "snapshot": None if event.snapshot is None else asdict(event.snapshot),
        "transaction": None if event.transaction is None else asdict(event.transaction),
        "envelope_version": ENVELOPE_VERSION,
        "before_is_key_only": event.before_is_key_only,
    }
    for name in ("unavailable_columns", "before_unavailable_columns"):
        if columns := getattr(event, name):
            said[name] = list(columns)
    return said
