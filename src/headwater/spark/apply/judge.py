"""Tables that are emptied or dropped at the source, by policy."""

from __future__ import annotations

from dataclasses import replace

from headwater.errors import ConfigError
from headwater.spark.change.changes import TableChanges
from headwater.spark.modes import Mode
from headwater.spark.policy import TablePolicy
from headwater.spark.table.target import Target


def judged(changes: TableChanges, policy: TablePolicy, table: Target, mode: Mode) -> TableChanges:
    """The changes as the policy has them.

    Raises what stops a table that has not passed the event already.
    """
    if mode == "append_log":
        return changes
    truncated, dropped = changes.truncated_at, changes.dropped
    if truncated is not None and policy.on_truncate == "halt":
        _stop(table, truncated, "spark-truncated", f"{changes.schema.table} was truncated")
    if dropped is not None and policy.on_drop == "halt":
        _stop(table, dropped.sequence, "spark-dropped", f"{changes.schema.table} was dropped")
    return heeded(changes, policy)


def heeded(changes: TableChanges, policy: TablePolicy) -> TableChanges:
    """The changes without the truncates, if those are ignored."""
    return replace(changes, truncated_at=None) if policy.on_truncate == "ignore" else changes


def _stop(table: Target, sequence: int, code: str, what: str) -> None:
    if table.standing().applied < sequence:
        raise ConfigError(code, f"table {what} at the source, event {sequence}", where=table.place)
