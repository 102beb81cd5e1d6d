"""The event as people see it: one change of one row. Nothing on the hot path builds one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from headwater.event.operation import Operation
from headwater.event.table import TableId

ENVELOPE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """Which connector saw the change, and where in the database's own log."""

    source_name: str
    offset: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which chunk of which snapshot a `read` event belongs to.

    On a `delete` event: the key was looked for there, and had no row.
    """

    snapshot_id: str
    chunk_index: int
    is_last_chunk: bool


@dataclass(frozen=True, slots=True)
class Transaction:
    """The transaction of the event, and the event's place in it. `total_events` may be unknown."""

    tx_id: int
    total_events: int | None
    event_index: int


@dataclass(frozen=True, slots=True)
class Event:
    """One committed change. `before` and `after` are row images by the value rule.

    `extra` is what a record of another format said that no field here can hold, by format.
    """

    op: Operation
    source: Origin
    ts_ms: int
    table: str
    schema: str | None = None
    primary_key: tuple[str, ...] | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    snapshot: Snapshot | None = None
    transaction: Transaction | None = None
    before_is_key_only: bool = False
    unavailable_columns: tuple[str, ...] = ()
    before_unavailable_columns: tuple[str, ...] = ()
    sequence_number: int = 0
    event_id: UUID = field(default_factory=lambda: UUID(int=0))
    schema_id: int = 0
    context: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None

    @property
    def table_id(self) -> TableId:
        """Schema and table as one name."""
        return TableId(self.schema, self.table)

    def key(self) -> dict[str, Any] | None:
        """The row's key after the change, or None: a key is all of its columns (INV-10)."""
        return self._key_of(self.before if self.op is Operation.DELETE else self.after)

    def old_key(self) -> dict[str, Any] | None:
        """The row's key before the change, where the before image has all of it (INV-10)."""
        return self._key_of(self.before)

    def _key_of(self, image: dict[str, Any] | None) -> dict[str, Any] | None:
        if not self.primary_key or image is None:
            return None
        if any(name not in image for name in self.primary_key):
            return None
        return {name: image[name] for name in self.primary_key}
