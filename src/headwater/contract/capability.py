"""What a part can do, as data. Nobody asks a part for its name to find out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCapabilities:
    """What a source captures. Conformance suites exercise what is declared, and only that.

    `backfill` reads existing rows beside the stream; `reread` those of chosen keys, and says of
    which keys there is no row.
    """

    snapshot: bool
    resumable_snapshot: bool
    before_image: bool
    truncate: bool
    schema_changes: bool
    context: bool
    exact_transactions: bool
    backfill: bool = False
    reread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCapabilities:
    """How a sink writes. `idempotent` means that a repeated write changes nothing."""

    idempotent: bool
    ordered: bool
