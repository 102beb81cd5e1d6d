"""The test kit."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "fixture-invalid",
        "A recording is not one that can be replayed.",
        "Correct the place shown; docs/guide/testkit.md describes the file.",
    ),
    (
        "golden-invalid",
        "The golden file is no JSON list of events.",
        "Write it anew with: headwater testkit replay FIXTURE --update",
    ),
    (
        "testkit-missing",
        "This program was started without the test kit.",
        "Run it as: headwater testkit replay FIXTURE",
    ),
)
