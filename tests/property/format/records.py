"""Random records of every format, many and cheap: what our encoders write, then bent by others.

A seeded generator of its own makes the bulk; hypothesis looks for the nasty corners elsewhere.
Records are bent as a foreign producer would write them: members left out, null or added, times in
other precisions, raw data, positions that are no text, times that are no whole milliseconds.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from headwater.event import (
    Event,
    EventBatch,
    Operation,
    Origin,
    Snapshot,
    Transaction,
    message_image,
)
from headwater.format.jsontext import canonical, loads

Tree = dict[str, Any]

_TEXTS = ("", "a", "id", "naïve", "𝄞", 'say "hi"', "back\\slash", "tab\t", "\x00", "null", "NaN",
          "__debezium_unavailable_value", "2026-01-11T15:35:00Z")  # fmt: skip
TIMES = (1, 1_700_000_000_999, 2**60)
ROWS = (Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ)
ROWLESS = (Operation.SCHEMA_CHANGE, Operation.TRUNCATE, Operation.MESSAGE)


def value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.randrange(10 if depth else 8)
    match kind:
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2:
            return rng.randrange(-(2**70), 2**70)
        case 3:
            return rng.randrange(-1000, 1000)
        case 4:
            return rng.choice((0.1, -0.0, 1.0, 1e300, 2.5e-9, 1e16))
        case 5 | 6 | 7:
            return rng.choice(_TEXTS)
        case 8:
            return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
        case _:
            return {rng.choice(_TEXTS): value(rng, depth - 1) for _ in range(rng.randrange(3))}


def row(rng: random.Random, key: tuple[str, ...]) -> Tree:
    columns = {name: rng.choice((rng.randrange(2**63), rng.choice(_TEXTS))) for name in key}
    for number in range(rng.randrange(4)):
        columns[f"c{number}"] = value(rng)
    return columns


def event(rng: random.Random, operations: tuple[Operation, ...]) -> Event:
    op = rng.choice(operations)
    if op is Operation.MESSAGE:
        return message(rng)
    key = rng.choice((None, ("id",), ("b", "a"), ("id", "tenant", "z")))
    image = row(rng, key or ())
    old = image | {"c0": value(rng)} if rng.random() < 0.7 else row(rng, key or ())
    before = (
        old if op is Operation.DELETE or (op is Operation.UPDATE and rng.random() < 0.8) else None
    )
    key_only = before is not None and key is not None and rng.random() < 0.2
    if before is not None and key_only:
        before = {name: before[name] for name in key or ()}
    after = image if op in (*ROWS[:2], Operation.READ, Operation.SCHEMA_CHANGE) else None
    hidden = ("toast",) if after is not None and op in ROWS and rng.random() < 0.2 else ()
    return Event(
        op=op,
        source=origin(rng),
        ts_ms=rng.choice(TIMES),
        table=rng.choice(("users", "tb_blog_post", "per cent%", "\u0001ctl", "Ünï")),
        schema=rng.choice((None, "", "public")),
        primary_key=key,
        before=before,
        after=after,
        snapshot=Snapshot(rng.choice(_TEXTS), rng.randrange(2**31), rng.random() < 0.5)
        if op is Operation.READ and rng.random() < 0.5
        else None,
        transaction=transaction(rng),
        before_is_key_only=key_only,
        unavailable_columns=hidden,
        before_unavailable_columns=("big", "toast")
        if before is not None and not key_only and rng.random() < 0.1
        else (),
        context=rng.choice((None, {"user_id": "u", "trigger": "api_update", "x": 1.5})),
    )


def message(rng: random.Random) -> Event:
    return Event(
        op=Operation.MESSAGE,
        source=origin(rng),
        ts_ms=rng.choice(TIMES),
        table="",
        after=json.loads(message_image(rng.choice(_TEXTS), rng.randbytes(rng.randrange(9)))),
        transaction=transaction(rng),
    )


def origin(rng: random.Random) -> Origin:
    return Origin(
        rng.choice(("postgres", "postgresql", "mysql", "sqlite", "x y", "é")),
        rng.choice(("0/16B6A70:3", "bin.000001:4#gtid=a:1", "0x00ab:0x01", "é\n", "7")),
        rng.choice((0, 1_700_000_000_123, 2**62)),
    )


def transaction(rng: random.Random) -> Transaction | None:
    if rng.random() >= 0.6:
        return None
    return Transaction(rng.randrange(2**63), rng.choice((None, 9)), rng.randrange(9))


def batch(rng: random.Random, count: int, operations: tuple[Operation, ...]) -> EventBatch:
    events = [event(rng, operations) for _ in range(count)]
    return EventBatch.from_events(events).with_sequence(rng.randrange(2**40))


def bend(rng: random.Random, name: str, record: bytes) -> bytes:
    """The record as another producer might have written it; still of its format."""
    tree = loads(record.decode())
    payload = tree["payload"] if name == "debezium-schema" else tree
    for _ in range(rng.randrange(1, 3)):
        rng.choice(_BENDS[name])(rng, payload)
    if name == "debezium-schema" and rng.random() < 0.3:
        tree["schema"]["version"] = rng.randrange(9)
    return canonical(tree).encode()


def _add(rng: random.Random, tree: Tree) -> None:
    tree[rng.choice(("vendor", "x.y", ""))] = loads(json.dumps(value(rng)))


def _in(*path: str) -> Callable[[random.Random, Tree], None]:
    """Add something inside the object at this path, if there is one."""

    def bent(rng: random.Random, tree: Tree) -> None:
        node: Any = tree
        for name in path:
            node = node.get(name) if type(node) is dict else None
        if type(node) is dict:
            _add(rng, node)

    return bent


def _drop(*names: str) -> Callable[[random.Random, Tree], None]:
    def bent(rng: random.Random, tree: Tree) -> None:
        tree.pop(rng.choice(names), None)

    return bent


def _null(*names: str) -> Callable[[random.Random, Tree], None]:
    def bent(rng: random.Random, tree: Tree) -> None:
        tree[rng.choice(names)] = None

    return bent


def _metadata(rng: random.Random, tree: Tree) -> None:
    meta = tree.get("metadata")
    if type(meta) is not dict:
        return
    meta[rng.choice(("file.path", "opencdc.file.name", "conduit.dlq.nack.error"))] = "said"
    meta["opencdc.createdAt"] = rng.choice(("1663858188836816007", "", "5"))


def _forget_ours(_rng: random.Random, tree: Tree) -> None:
    meta = tree.get("metadata")
    if type(meta) is dict and "headwater.op" not in meta:
        for name in [name for name in meta if name.startswith("headwater.")]:
            del meta[name]


def _raw(rng: random.Random, tree: Tree) -> None:
    raw = rng.choice((b"", b"yellow", b"\xff\xfe", b'{"a": 1}', b'{"big":18446744073709551617}'))
    place = tree if rng.random() < 0.3 else tree.setdefault("payload", {})
    if type(place) is dict:
        name = "key" if place is tree else rng.choice(("before", "after"))
        place[name] = b64encode(raw).decode()


def _position(rng: random.Random, tree: Tree) -> None:
    tree["position"] = rng.choice((None, "", "//79", b64encode(b"\x00\xff").decode()))


def _times(rng: random.Random, tree: Tree) -> None:
    tree["timestamp"] = rng.choice(
        (
            "2026-01-11T15:35:00.123456789Z",
            "2026-01-11T15:35:00+02:00",
            "9999-12-31T23:59:59.999999Z",
        )
    )


def _cascade(rng: random.Random, tree: Tree) -> None:
    tree["cascade"] = {"deleted": [{"entity_type": "Post", "entity_id": str(rng.random())}]}


def _custom(rng: random.Random, tree: Tree) -> None:
    tree["metadata"] = rng.choice(({}, {"user_id": "u", "custom_fields": {"a": 1}}, None, "odd"))


def _source(rng: random.Random, tree: Tree) -> None:
    source = tree.get("source")
    if type(source) is dict:
        source.update(rng.choice(({"lsn": 7}, {"ts_ns": 1}, {"sequence": None}, {"region": "eu"})))


def _transaction(rng: random.Random, tree: Tree) -> None:
    identity = rng.choice(("571:53195832", "gtid-1", "99999999999999999999", "5"))
    tree["transaction"] = {"id": identity, "total_order": 1, "data_collection_order": 1}


def _block(rng: random.Random, tree: Tree) -> None:
    _in("message" if "message" in tree else "source")(rng, tree)


def _envelope(rng: random.Random, tree: Tree) -> None:
    rng.choice((_drop("schema", "before_is_key_only", "snapshot"), _add))(rng, tree)
    if rng.random() < 0.5:
        tree["primary_key"] = []
        tree["unavailable_columns"] = []


_DEBEZIUM = (
    _add, _in("source"), _drop("transaction", "ts_us", "ts_ns"), _null("transaction", "ts_ms"),
    _source, _transaction, _drop("ts_ns"), _block,
)  # fmt: skip
_BENDS: dict[str, tuple[Callable[[random.Random, Tree], None], ...]] = {
    "headwater-json": (_envelope,),
    "opencdc": (
        _add, _in("payload"), _metadata, _forget_ours, _raw, _position, _drop("key", "position"),
        _null("key", "payload"),
    ),
    "cdc-format": (
        _add, _in("source"), _in("entity"), _times, _cascade, _custom, _source,
        _drop("cascade", "metadata", "event_id", "sequence_number"), _in("operation"),
    ),
    "debezium": _DEBEZIUM,
    "debezium-schema": _DEBEZIUM,
    "cloudevents": (_add, _in("data"), _null("subject"), _drop("id", "time", "cdcop", "subject")),
}  # fmt: skip
