"""Sinks and dead letters."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "sink-foreign-file",
        "The file exists and was not written by this sink; it would be damaged.",
        "Choose another path, or move the file away.",
    ),
    (
        "sink-other-log",
        "The file holds the events of another log.",
        "Choose another path for this log.",
    ),
    (
        "sink-file-damaged",
        "The file is shorter than what was made durable in it, or its state file is unreadable.",
        "Move the file and its .state file away and deliver again under a new consumer name.",
    ),
    (
        "sink-io",
        "The operating system refused to write the sink's file.",
        "Check space and permissions, then start again. Nothing was acknowledged.",
    ),
    (
        "sink-record",
        "A record does not fit the sink's framing.",
        "Use length-prefixed framing for binary formats.",
    ),
)
