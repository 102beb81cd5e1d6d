"""The position spelled out: where the stream stands, and which rows are still owed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headwater.errors import DataError
from headwater.event import Position


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table whose rows are not all read: pages before `next_page` are done.

    A row that was written after the snapshot `seen` may have moved into a page that was already
    read; so a table that was read beside the stream ends with a second look at such rows
    (`rescan`). `filenode` tells a table that was rebuilt, whose pages mean nothing any more.
    Reading begins when no transaction before `after_xid` runs any more: the stream has its changes
    only from then on. `anew`: another table was captured under its name, whose rows are to go
    before the first of these comes. `command` asked for it, if anybody did. `keys` are the only
    rows that are wanted, if given, in the whole table and not only in this part of it. `failed` is
    the server's reason not to read it.
    """

    oid: int
    next_page: int = 0
    rows_done: int = 0
    rows_total: int | None = None
    where: str | None = None
    seen: str | None = None
    filenode: int | None = None
    after_xid: int | None = None
    rescan: bool = False
    anew: bool = False
    command: int | None = None
    rows_per_s: int | None = None
    failed: str | None = None
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SnapshotPlace:
    """Rows that are owed, table by table. `seen` is the first load's snapshot, while it goes on."""

    snapshot_id: str
    pending: tuple[PendingTable, ...]
    seen: str | None = None
    chunk_index: int = 0
    paused: bool = False

    @property
    def first(self) -> PendingTable:
        """The table whose turn it is."""
        return self.pending[0]

    @property
    def idle(self) -> bool:
        """Whether there is nothing to read for now."""
        return self.paused or self.first.failed is not None

    def with_tables(self, pending: Iterable[PendingTable]) -> SnapshotPlace | None:
        """With these tables, those that failed after the others; None when there are none."""
        tables = tuple(sorted(pending, key=lambda table: table.failed is not None))
        return replace(self, pending=tables) if tables else None

    @property
    def rows_left(self) -> int | None:
        """About how many rows are still to be read; None before the server has counted them."""
        left = 0
        for table in self.pending:
            if table.rows_total is None:
                return None
            left += max(0, table.rows_total - table.rows_done)
        return left

    def with_first(self, table: PendingTable | None) -> SnapshotPlace | None:
        """With the first table moved on, or done; None when nothing is owed any more."""
        return self.with_tables((() if table is None else (table,)) + self.pending[1:])

    def next_chunk(self) -> SnapshotPlace:
        """The same, with a chunk more behind it."""
        return replace(self, chunk_index=self.chunk_index + 1)


@dataclass(frozen=True, slots=True)
class Known:
    """What the log knows of a table: a mark of its shape, and a short hash of its name.

    Without a name it is not captured: the stream has merely described it. Without a shape it is
    captured no more, or gone.
    """

    shape: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Everything before `lsn` is in the log, in the history that `system` and `timeline` name.

    `decided` is True between the decision to use a slot and the first thing kept from it: a slot
    found then was made by us for nothing and is made anew. `accept`: without reading rows.
    `tables`: what the log knows of them, see `known`.
    `entry`: the newest entry of the publication that was there when a table was last taken up.
    `asked` is the last command that was taken.
    """

    system: str
    timeline: int
    slot: str
    lsn: int = 0
    decided: bool = False
    accept: bool = False
    snapshot: SnapshotPlace | None = None
    tables: str | None = None
    entry: int = 0
    asked: int | None = None

    def known(self) -> dict[int, Known]:
        """What the log knows of each table, by the table's number.

        It stands in every position, so it is one short text that is spelled out only when a table
        comes, goes or changes.
        """
        parts = (part.split(":") for part in (self.tables or "").split())
        return {int(oid, 16): Known(shape, name) for oid, shape, name in parts}

    def knowing(self, tables: Mapping[int, Known]) -> Place:
        """With the knowledge of these tables and no others."""
        items = sorted(tables.items())
        text = " ".join(f"{oid:x}:{known.shape}:{known.name}" for oid, known in items)
        return replace(self, tables=text or None)

    def marks(self) -> dict[int, str]:
        """The marks of shapes alone."""
        return {oid: known.shape for oid, known in self.known().items() if known.shape}

    def marking(self, marks: Mapping[int, str]) -> Place:
        """With other marks for some tables."""
        tables = self.known()
        for oid, shape in marks.items():
            tables[oid] = replace(tables.get(oid, Known()), shape=shape)
        return self.knowing(tables)

    def owing(self, tables: Sequence[PendingTable]) -> Place:
        """With the rows of more tables owed."""
        now = f"{time.time_ns() // 1_000_000:x}"
        owed = self.snapshot or SnapshotPlace(now, ())
        return replace(self, snapshot=owed.with_tables((*owed.pending, *tables)))

    def encode(self) -> Position:
        """As a token of JSON primitives. What is as by default is left out: it is written often."""
        return Position(asdict(self, dict_factory=_given))

    @classmethod
    def decode(cls, position: Position) -> Place:
        """Read what `encode` wrote."""
        token: dict[str, Any] = dict(position.token)
        try:
            snapshot = token.pop("snapshot", None)
            return cls(**token, snapshot=None if snapshot is None else _snapshot(**snapshot))
        except (TypeError, KeyError, AttributeError) as exc:
            raise DataError(
                "position-invalid", f"not a PostgreSQL position: {position.encode()[:80]}"
            ) from exc


def _given(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if value is not None and value is not False}


def _snapshot(*, pending: list[dict[str, Any]], **rest: Any) -> SnapshotPlace:
    return SnapshotPlace(pending=tuple(_pending(**item) for item in pending), **rest)


def _pending(*, keys: list[str] | None = None, **rest: Any) -> PendingTable:
    return PendingTable(**rest, keys=None if keys is None else tuple(keys))
