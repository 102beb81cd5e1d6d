"""Loops, acknowledgements and lifecycles."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "lifecycle-transition",
        "The runtime cannot go from its present state to the requested one.",
        "Look at the state first; a stopped runtime is started anew, not resumed.",
    ),
    (
        "ack-spent",
        "This batch, or this part of it, was acknowledged before.",
        "Acknowledge each batch once.",
    ),
    (
        "ack-unknown",
        "The acknowledgement belongs to another subscription or to an earlier run.",
        "Acknowledge batches with the subscription that delivered them.",
    ),
    (
        "ack-inside-transaction",
        "The prefix to acknowledge ends inside a transaction.",
        "Acknowledge at one of batch.borders(), or the whole batch.",
    ),
    (
        "not-open",
        "A capture or consumer was used before it was opened or after it was closed.",
        "Use it inside its with statement.",
    ),
    (
        "ack-outside-batch",
        "The sequence number to acknowledge up to is not in the batch.",
        "Acknowledge at one of batch.borders(), or the whole batch.",
    ),
    (
        "dead-letter-file",
        "The dead-letter file cannot be written, so the bad record cannot be set aside.",
        "Give this user write permission on the file, or free disk space.",
    ),
    (
        "retries-exhausted",
        "The same step failed on every attempt.",
        "The cause is in the line above; fix it and start again. Nothing was lost.",
    ),
)
