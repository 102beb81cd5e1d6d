"""Checkpoint files."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "checkpoint-nothing",
        "The log holds no position yet, so there is nothing to export.",
        "Run the pipeline first: headwater run FILE",
    ),
    (
        "checkpoint-invalid",
        "The file is no checkpoint file of a log.",
        "Write one with: headwater checkpoint export LOG FILE",
    ),
    (
        "checkpoint-damaged",
        "The checkpoint file is not as it was written.",
        "Write it anew with: headwater checkpoint export LOG FILE",
    ),
    (
        "checkpoint-log-used",
        "The log has a position, events or consumers of its own, which would be overwritten.",
        "Name a log file that does not exist yet.",
    ),
    (
        "checkpoint-other-log",
        "The consumers of the checkpoint belong to another log, whose numbers mean other events.",
        "Import into the log that the file was exported from.",
    ),
    (
        "checkpoint-behind",
        "A consumer had not read everything when the file was written; the rest is not in it.",
        "Let it catch up and export again, or leave consumers out with --source-only.",
    ),
)
