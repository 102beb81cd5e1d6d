"""JSON records taken apart: row images cut out as text, the other members parsed into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.errors import DataError
from headwater.event import Operation
from headwater.format.columns import EnvelopeColumns, bad_record
from headwater.format.headwater.image import parse, scan_image, write_image

BEFORE, AFTER = '{"before":', ',"after":'
_NUMBERS = {op.label: int(op) for op in Operation}

Row = dict[str, Any]


Parts = tuple[str | None, str | None, Row]


def split(text: str) -> Parts:
    """The two images as text, and the other members parsed. ValueError if that is not there."""
    parts = _cut(text)
    if parts is not None:
        return parts
    row = _object(text)
    return write_image(row.get("before")), write_image(row.get("after")), row


def _cut(text: str) -> Parts | None:
    """The parts of a record in the usual layout, images first; None for any other layout."""
    if not text.startswith(BEFORE):
        return None
    try:
        before, end = scan_image(text, len(BEFORE))
        if not text.startswith(AFTER, end):
            return None
        after, end = scan_image(text, end + len(AFTER))
        if not text.startswith(",", end):
            return None
        rest = _object("{" + text[end + 1 :])
    except ValueError:
        return None
    return None if "before" in rest or "after" in rest else (before, after, rest)


def _object(text: str) -> Row:
    value = parse(text)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004
    return value


def to_columns(
    befores: Sequence[str | None], afters: Sequence[str | None], rows: Sequence[Row]
) -> EnvelopeColumns:
    """The records' members by field; what a producer may leave out has its default."""
    sources = _members(rows, "source")
    return EnvelopeColumns(
        before=befores,
        after=afters,
        op=[_NUMBERS.get(label) if type(label) is str else None for label in _members(rows, "op")],
        source_name=_parts("source", sources, "source_name"),
        offset=_parts("source", sources, "offset"),
        source_ts_ms=_parts("source", sources, "timestamp"),
        ts_ms=_members(rows, "ts"),
        schema=[row.get("schema") for row in rows],
        table=_members(rows, "table"),
        primary_key=[row.get("primary_key") for row in rows],
        snapshot=_triples(rows, "snapshot", ("snapshot_id", "chunk_index", "is_last_chunk")),
        transaction=_triples(rows, "transaction", ("tx_id", "total_events", "event_index")),
        envelope_version=_members(rows, "envelope_version"),
        before_is_key_only=[row.get("before_is_key_only", False) for row in rows],
        unavailable_columns=[row.get("unavailable_columns") for row in rows],
        before_unavailable_columns=[row.get("before_unavailable_columns") for row in rows],
    )


def _members(rows: Sequence[Row], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        raise _lacking(rows, name) from None


def _lacking(rows: Sequence[Row], name: str) -> DataError:
    index = next(index for index, row in enumerate(rows) if name not in row)
    return bad_record(index, f"{name} is missing")


def _parts(parent: str, objects: Sequence[Any], name: str) -> list[Any]:
    try:
        return [item[name] for item in objects]
    except (KeyError, TypeError, IndexError):
        raise _broken(parent, objects, name) from None


def _triples(
    rows: Sequence[Row], parent: str, names: tuple[str, str, str]
) -> list[tuple[Any, Any, Any] | None]:
    objects = [row.get(parent) for row in rows]
    first, second, third = names
    try:
        return [
            None if item is None else (item[first], item.get(second), item[third])
            for item in objects
        ]
    except (KeyError, TypeError, AttributeError):
        raise _broken(parent, objects, first, third) from None


def _broken(parent: str, objects: Sequence[Any], *names: str) -> DataError:
    for index, item in enumerate(objects):
        if not isinstance(item, dict) and item is not None:
            return bad_record(index, f"{parent} is not an object")
        for name in names:
            if name not in (item or ()):
                return bad_record(index, f"{parent}.{name} is missing")
    raise AssertionError("the caller saw a broken member")
