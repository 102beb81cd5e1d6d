"""Change events with Connect's schema in front: `{"schema": …, "payload": …}`.

The schema follows from the payload. Where a producer wrote another, the difference goes with the
event, as everything does that the event has no field for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.event import EventBatch
from headwater.format.columns import bad_record, unwritable
from headwater.format.debezium.connect import envelope
from headwater.format.delta import diff, patch
from headwater.format.jsontext import dumps, loads, loads_object
from headwater.format.stash import Said

FAMILY = "debezium-schema"


def wrap(payloads: Sequence[bytes], batch: EventBatch) -> list[bytes]:
    """The payloads with their schemas."""
    records = []
    for row, (payload, extra) in enumerate(
        zip(payloads, batch.column("extra").to_pylist(), strict=True)
    ):
        try:
            tree = loads_object(payload)
        except ValueError as exc:
            raise unwritable(row, str(exc)) from exc
        record = {"schema": envelope(tree), "payload": tree}
        delta = None if extra is None else loads(extra).get(FAMILY)
        if delta is not None:
            record = patch(record, delta)
        records.append(dumps(record).encode())
    return records


def unwrap(records: Iterable[bytes]) -> tuple[list[bytes], list[Said]]:
    """The payloads, and what their schemas say beyond them."""
    payloads, said = [], []
    for index, record in enumerate(records):
        try:
            tree = loads_object(record)
            payload = tree.get("payload")
            if type(payload) is not dict or "schema" not in tree:
                raise ValueError("no schema and payload")
        except ValueError as exc:
            raise bad_record(index, f"not a change event with its schema: {exc}") from exc
        payloads.append(dumps(payload).encode())
        natural = {"schema": envelope(payload), "payload": payload}
        delta = None if dumps(natural).encode() == record else diff(natural, tree)
        said.append({} if delta is None else {FAMILY: delta})
    return payloads, said
