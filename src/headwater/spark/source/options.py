"""What a read asks for: the options of `format("headwater")`, each checked where it is given.

Spark hands names over in lower case. An option that nobody knows, and one that this kind of read
would pass over, is an error: what is misspelt must not read from the wrong place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.errors import ConfigError
from headwater.spark.source.place import EARLIEST, LATEST, Place, PlaceKind, at_time
from headwater.spark.source.tasks import USUAL, Tasks

_SOURCE = ("url", "log", "checkpointLocation", "snapshot", "onGap", "slot")
_START = ("startingSequence", "startingTime", "startingPosition")
_END = ("endingSequence", "endingTime")
_STREAM = ("consumer", "maxRowsPerTrigger", "maxBytesPerTrigger", "attempt")
_BROKER = "kafka."
_FLAGS = {"true": True, "false": False}
KNOWN = (
    "path",
    "tables",
    "partitions",
    "pushFilters",
    "typedRead",
    "recordFormat",
    "encodeAs",
    *_START,
    *_END,
    *_STREAM,
    *_SOURCE,
)

_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_BYTES = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one read, checked. `given` has those that say where the events come from.

    Of a topic, `broker` has the settings of the client and `record_format` the records' format.
    `encode_as` names the format that rows are to have; empty, they are events. A stream of an
    `attempt` that its checkpoint does not know has a micro-batch, though it may be empty.
    """

    path: str
    tables: tuple[str, ...]
    start: Place | None
    end: Place | None
    consumer: str
    max_rows: int | None
    max_bytes: int | None
    tasks: Tasks
    push_filters: bool
    typed_read: str
    given: Mapping[str, str]
    record_format: str = ""
    encode_as: str = ""
    attempt: str = ""
    broker: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Mapping[str, str], cores: int = USUAL) -> Options:
        """Read Spark's option map, for a session of so many cores."""
        of_client = {name for name in given if name.lower().startswith(_BROKER)}
        by_name = _named({name: given[name] for name in given if name not in of_client})
        start = _place(by_name, _START)
        end = _place(by_name, _END)
        if (
            end is not None
            and end.kind is not PlaceKind.SEQUENCE
            and end.kind is not PlaceKind.TIME
        ):
            raise _wrong("endingSequence", by_name["endingSequence"], "write a number")
        return cls(
            path=by_name.get("path", ""),
            tables=tuple(filter(None, map(str.strip, by_name.get("tables", "").split(",")))),
            start=start,
            end=end,
            consumer=by_name.get("consumer", ""),
            max_rows=_count(by_name, "maxRowsPerTrigger"),
            max_bytes=_size(by_name, "maxBytesPerTrigger"),
            tasks=Tasks(_count(by_name, "partitions"), cores),
            push_filters=_flag(by_name, "pushFilters"),
            typed_read=by_name.get("typedRead", ""),
            given={name: by_name[name] for name in _SOURCE if name in by_name},
            record_format=by_name.get("recordFormat", ""),
            encode_as=by_name.get("encodeAs", ""),
            attempt=by_name.get("attempt", ""),
            broker={name[len(_BROKER) :]: given[name] for name in sorted(of_client)},
        )

    def for_stream(self) -> Options:
        """The same, if a stream understands them all."""
        if self.end is not None:
            raise ConfigError("spark-option", f"{_END[0]} and {_END[1]} are for batch reads")
        if self.push_filters:
            raise ConfigError("spark-option", "pushFilters is for batch reads")
        if self.typed_read:
            raise ConfigError("spark-option", "typedRead is for batch reads")
        return self

    def for_batch(self) -> Options:
        """The same, if a batch read understands them all."""
        passed = (self.consumer or None, self.max_rows, self.max_bytes, self.attempt or None)
        for name, value in zip(_STREAM, passed, strict=True):
            if value is not None:
                raise ConfigError("spark-option", f"{name} is for streams")
        if self.encode_as and self.push_filters:
            raise ConfigError("spark-option", "pushFilters is for events, encodeAs gives records")
        if self.start == LATEST:
            raise ConfigError("spark-option", "a batch read that starts at latest reads nothing")
        return self


def _named(given: Mapping[str, str]) -> dict[str, str]:
    """By the names as they are written here."""
    spelt = {name.lower(): name for name in KNOWN}
    named: dict[str, str] = {}
    for key, value in given.items():
        name = spelt.get(key.lower())
        if name is None:
            near = difflib.get_close_matches(key.lower(), spelt, n=1, cutoff=0.6)
            meant = f"did you mean {spelt[near[0]]}?" if near else f"known: {', '.join(KNOWN)}"
            raise ConfigError("spark-option", f"there is no option {key}", hint=meant)
        named[name] = value
    return named


def _place(given: Mapping[str, str], names: tuple[str, ...]) -> Place | None:
    """The one place that is named, by number, time or position."""
    named = [name for name in names if name in given]
    if not named:
        return None
    if len(named) > 1:
        raise ConfigError("spark-option", f"{' and '.join(named)} exclude each other")
    (name,) = named
    text = given[name].strip()
    if name.endswith("Sequence"):
        return _sequence(name, text)
    if name.endswith("Time"):
        try:
            return at_time(text)
        except ValueError:
            raise _wrong(
                name, text, "write an ISO 8601 time such as 2026-03-01T06:00:00Z"
            ) from None
    if not text:
        raise _wrong(name, text, "write what source.offset of an event says")
    return Place(PlaceKind.POSITION, text)


def _sequence(name: str, text: str) -> Place:
    named = {"earliest": EARLIEST, "latest": LATEST}.get(text.lower())
    if named is not None:
        return named
    if not text.isdecimal():
        raise _wrong(name, text, "write earliest, latest or a number")
    return Place(PlaceKind.SEQUENCE, int(text))


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) == 0:
        raise _wrong(name, text, "write a number from 1 on")
    return int(text)


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").strip().lower()
    if text not in _FLAGS:
        raise _wrong(name, text, "write true or false")
    return _FLAGS[text]


def _size(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    found = _BYTES.fullmatch(text.strip())
    if found is None or int(found[1]) == 0:
        raise _wrong(name, text, "write a number of bytes, or one with k, m or g")
    return int(found[1]) * _UNITS[found[2].lower()]


def _wrong(name: str, text: str, hint: str) -> ConfigError:
    return ConfigError("spark-option", f"{name} cannot be {text!r}", hint=hint)
