"""The source's position, spelled out. Outside this room it is an opaque token."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headwater.errors import DataError
from headwater.event import Position


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table whose rows are still to be read: from the start, or after the key of the last one.

    `command` has asked for its `keys` alone, each a JSON object.
    """

    capture_no: int
    after: tuple[Any, ...] | None = None
    rows_done: int = 0
    rows_total: int = 0
    keys: tuple[str, ...] | None = None
    command: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the source stands.

    Changes up to `change_id` are read, generations up to `generation` are known, and the tables of
    `pending` are still being read into snapshot `snapshot_id`, the first one now. `asked` is the
    last command that was taken.
    """

    change_id: int
    generation: int
    snapshot_id: str = ""
    chunk_index: int = 0
    pending: tuple[PendingTable, ...] = ()
    asked: int = 0

    @property
    def rows_left(self) -> int | None:
        """How many rows are still to come; None while a table is not begun, and so not counted."""
        if any(table.after is None for table in self.pending):
            return None
        return sum(max(0, table.rows_total - table.rows_done) for table in self.pending)

    def with_first(self, table: PendingTable | None) -> Place:
        """The first pending table moved on, or finished when None; the next chunk follows."""
        rest = self.pending[1:]
        pending = rest if table is None else (table, *rest)
        return replace(self, pending=pending, chunk_index=self.chunk_index + 1)

    def encode(self) -> Position:
        """As a token of JSON primitives."""
        token: dict[str, Any] = {"change": self.change_id, "generation": self.generation}
        if self.asked:
            token["asked"] = self.asked
        if self.pending:
            token["snapshot"] = {
                "id": self.snapshot_id,
                "chunk": self.chunk_index,
                "tables": [_pending_token(table) for table in self.pending],
            }
        return Position(token)

    @classmethod
    def decode(cls, position: Position) -> Place:
        """Read what `encode` wrote."""
        token: Any = position.token
        try:
            snapshot = token.get("snapshot") or {"id": "", "chunk": 0, "tables": []}
            return cls(
                change_id=int(token["change"]),
                generation=int(token["generation"]),
                snapshot_id=snapshot["id"],
                chunk_index=snapshot["chunk"],
                pending=tuple(
                    PendingTable(
                        item["capture"],
                        None if item["after"] is None else tuple(item["after"]),
                        item["rows"],
                        item["total"],
                        None if item.get("keys") is None else tuple(item["keys"]),
                        item.get("command"),
                    )
                    for item in snapshot["tables"]
                ),
                asked=int(token.get("asked", 0)),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise DataError(
                "position-invalid", "the position is not one of a SQLite source"
            ) from exc


def _pending_token(table: PendingTable) -> dict[str, Any]:
    token: dict[str, Any] = {
        "capture": table.capture_no,
        "after": None if table.after is None else list(table.after),
        "rows": table.rows_done,
        "total": table.rows_total,
    }
    if table.keys is not None:
        token |= {"keys": list(table.keys), "command": table.command}
    return token
