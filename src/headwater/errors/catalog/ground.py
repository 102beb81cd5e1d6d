"""Faults that were asked for."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "failpoint",
        "A fault was injected on purpose through HEADWATER_FAILPOINT.",
        "Unset HEADWATER_FAILPOINT.",
    ),
)
