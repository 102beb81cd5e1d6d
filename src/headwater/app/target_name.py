"""A name for the place of tables, under which the log's file keeps what is known of them."""

from __future__ import annotations

from hashlib import sha256


def target_name(table_format: str, target: str) -> str:
    """What is known of one place is not true of another. The place itself may hold a secret."""
    return sha256(f"{table_format} {target}".encode()).hexdigest()[:16]
