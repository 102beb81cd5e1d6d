"""The table of the state: where it is below a folder, its columns, how it is looked after."""

from __future__ import annotations

COLUMNS = {
    "sequence": "bigint",
    "schema": "string",
    "table": "string",
    "mode": "string",
    "path": "string",
    "version": "bigint",
    "applied": "bigint",
    "published": "boolean",
    "committed_at": "timestamp",
    "applied_at": "timestamp",
    "log": "string",
    "consumer": "string",
}
# Each batch adds a small file: without compaction a reader would open them all.
MANY_FILES = 100
COMPACT_BYTES = 32 * 1024**2
RETAIN_S = 7 * 24 * 3600


def state_path(location: str) -> str:
    """Where the state of a lake in a folder is."""
    return f"{location.rstrip('/')}/_headwater/state"
