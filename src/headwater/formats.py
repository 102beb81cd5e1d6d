"""Wire formats by name: events to records, records to events, and so any format to any other.

    batch = headwater.formats.decode(records, "debezium")
    records = headwater.formats.encode(batch, "opencdc")

Nothing is lost on the way: what a format has no field for travels with the event, and stands in
the record again when it goes back to the format that it came from.

A format that writes typed rows takes the tables from a log (`schemas`). With a `registry` each
record begins with its schema's id there:

    registry = formats.SchemaRegistry("http://localhost:8081")
    form = formats.get("headwater-avro-typed", schemas=log.reader(), registry=registry)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headwater.app.format_schemas import with_schemas
from headwater.app.registry import default_registry
from headwater.format.registry.client import SchemaRegistry
from headwater.format.registry.subject import Strategy, Subjects

if TYPE_CHECKING:
    from headwater.contract import Format, SchemaHistory
    from headwater.event import EventBatch

__all__ = ["SchemaRegistry", "Strategy", "Subjects", "decode", "encode", "get", "names"]


def names() -> tuple[str, ...]:
    """The names of the formats."""
    return default_registry().names()["formats"]


def get(
    name: str,
    *,
    schemas: SchemaHistory | None = None,
    registry: SchemaRegistry | None = None,
    subjects: Subjects | None = None,
) -> Format:
    """The format of this name; a ConfigError names the nearest if there is none.

    - `schemas`: the tables' schemas, for typed rows: a reader of the log that captured them.
    - `registry`: frame the records for this schema registry.
    - `subjects`: the topics and the rule that name the registry's subjects.
    """
    return with_schemas(default_registry().format(name), schemas, registry, subjects)


def encode(
    batch: EventBatch,
    name: str,
    *,
    schemas: SchemaHistory | None = None,
    registry: SchemaRegistry | None = None,
    subjects: Subjects | None = None,
) -> Sequence[bytes]:
    """One record per event, in order; what the format cannot say is a DataError."""
    return get(name, schemas=schemas, registry=registry, subjects=subjects).encode(batch)


def decode(
    records: Iterable[bytes],
    name: str,
    *,
    schemas: SchemaHistory | None = None,
    registry: SchemaRegistry | None = None,
) -> EventBatch:
    """The events of the records; one that is not of the format is a DataError with its index."""
    return get(name, schemas=schemas, registry=registry).decode(records)
