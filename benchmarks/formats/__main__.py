"""make bench NAME=formats."""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.formats import libraries
from benchmarks.formats.workload import (
    EVENTS,
    avro_members,
    changes,
    json_members,
    protobuf_members,
)
from benchmarks.harness import Bench, timed
from headwater import formats
from headwater.event import EventBatch

CDC_FORMAT_RATE = 100_000.0
LEAST = 0.7
SMALL, SMALL_EVENTS = 10, 2_000


@dataclass(frozen=True, slots=True)
class Peer:
    """A library's way of writing and reading the records of a format."""

    name: str
    members: Callable[[EventBatch], list[dict[str, Any]]]
    write: Callable[[Sequence[dict[str, Any]]], list[bytes]]
    read: Callable[[Sequence[bytes]], list[Any]]


def json_peer(name: str) -> Peer:
    return Peer(
        "orjson", lambda b: json_members(b, name), libraries.write_json, libraries.read_json
    )


HEADWATER = {
    "headwater-json": json_peer("headwater-json"),
    "headwater-avro": Peer("fastavro", avro_members, libraries.write_avro, libraries.read_avro),
    "headwater-protobuf": Peer(
        "protobuf", protobuf_members, libraries.write_protobuf, libraries.read_protobuf
    ),
}
OTHERS = ("cdc-format", "cloudevents", "debezium", "debezium-schema", "opencdc")


def rate(work: Callable[[], object], events: int = EVENTS) -> float:
    """Events per second. Garbage of one round is collected before the next, not within it."""
    gc.collect()
    gc.disable()
    try:
        return timed(events, work)
    finally:
        gc.enable()


def measure(bench: Bench, batch: EventBatch, name: str, peer: Peer) -> tuple[float, float]:
    """Both directions of a format against its library; returns rate and ratio of writing."""
    records = list(formats.encode(batch, name))
    members = peer.members(batch)
    ratio = bench.compare(
        f"{name}, write",
        lambda: rate(lambda: formats.encode(batch, name)),
        (f"{peer.name}, write", lambda: rate(lambda: peer.write(members))),
    )
    median = statistics.median(bench.comparisons[-1].rates)
    bench.compare(
        f"{name}, read",
        lambda: rate(lambda: formats.decode(records, name)),
        (f"{peer.name}, read", lambda: rate(lambda: peer.read(records))),
    )
    return median, ratio


def measure_small(bench: Bench, batch: EventBatch, name: str, peer: Peer) -> None:
    """Writing batches of ten: what a call costs shows, and the library's loop has none."""
    pieces = [batch.slice(first, SMALL) for first in range(0, SMALL_EVENTS, SMALL)]
    members = peer.members(batch.slice(0, SMALL_EVENTS))
    bench.compare(
        f"{name}, write, {SMALL} per batch",
        lambda: rate(lambda: [formats.encode(piece, name) for piece in pieces], SMALL_EVENTS),
        (f"{peer.name}, write", lambda: rate(lambda: peer.write(members), SMALL_EVENTS)),
    )


def measure_alone(bench: Bench, batch: EventBatch, name: str) -> None:
    """Both directions of a format that no library writes in one step."""
    records = list(formats.encode(batch, name))
    bench.rate(f"{name}, write", lambda: rate(lambda: formats.encode(batch, name)))
    bench.rate(f"{name}, read", lambda: rate(lambda: formats.decode(records, name)))


def check(batch: EventBatch) -> None:
    """A comparison is one only where both write the same events."""
    for name in ("headwater-avro", "headwater-protobuf"):
        peer = HEADWATER[name]
        ours, theirs = formats.encode(batch, name), peer.write(peer.members(batch))
        if not formats.decode(ours, name).equals(formats.decode(theirs, name)):
            raise SystemExit(f"{name} and {peer.name} did not write the same events")


def main() -> int:
    bench = Bench("formats")
    batch = changes()
    check(batch.slice(0, 1_000))
    for name, peer in HEADWATER.items():
        _, ratio = measure(bench, batch, name, peer)
        bench.bar(f"writing {name} against {peer.name}", ratio, LEAST)
        measure_small(bench, batch, name, peer)
    for name in OTHERS:
        median, _ = measure(bench, batch, name, json_peer(name))
        if name == "cdc-format":
            bench.bar("writing cdc-format, events/s", median, CDC_FORMAT_RATE)
    measure_alone(bench, batch, "opencdc-protobuf")
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
