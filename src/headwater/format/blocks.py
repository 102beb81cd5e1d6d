"""The envelope's two blocks in a record's members, as columns take them."""

from __future__ import annotations

from typing import Any

Block = tuple[Any, Any, Any] | None


def snapshot_of(value: Any) -> Block:
    """The parts of a snapshot object. ValueError if it is none."""
    return _parts(value, "snapshot_id", "chunk_index", "is_last_chunk")


def transaction_of(value: Any) -> Block:
    """The parts of a transaction object. ValueError if it is none."""
    return _parts(value, "tx_id", "total_events", "event_index")


def _parts(value: Any, first: str, second: str, third: str) -> Block:
    if value is None:
        return None
    if type(value) is not dict or first not in value or third not in value:
        raise ValueError(f"a block without {first} and {third}")
    return value[first], value.get(second), value[third]
