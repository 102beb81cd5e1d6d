"""The log and its cursors."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "kafka-missing",
        "Kafka's client, confluent-kafka, is not installed or cannot be loaded.",
        "pip install 'headwater[kafka]'",
    ),
    (
        "kafka-setting",
        "Kafka's client does not take a setting.",
        "Correct the option kafka.… that the message names.",
    ),
    (
        "kafka-topic",
        "A topic cannot be read as a log: it is not there, or it has several partitions.",
        "Name the topic that write_kafka writes to, made with one partition.",
    ),
    (
        "kafka-unreachable",
        "The broker does not answer.",
        "Check the address and the options kafka.…; it is tried again.",
    ),
    (
        "kafka-gap",
        "A topic lacks events that were to be read: the broker removed them, or it never had them.",
        "Write the log to a new topic with new checkpoints; let it keep records (retention.ms).",
    ),
    (
        "log-missing",
        "There is no log at this path.",
        "Start capture first, or correct the path: headwater log info PATH",
    ),
    (
        "log-not-a-log",
        "The file exists but is not a Headwater log, or a newer version wrote it.",
        "Point to the right file, or upgrade Headwater.",
    ),
    (
        "log-locked",
        "Another process is writing to this log; a log has exactly one writer.",
        "Stop the other process (headwater status shows it), or use another log path.",
    ),
    (
        "log-fenced",
        "A newer writer has taken this log over; this writer may not commit any more.",
        "Nothing was written by this process. Stop it and keep the newer one.",
    ),
    (
        "log-corrupt",
        "Stored bytes of the log do not match their checksum, or a range is missing.",
        "Stop consumers and run: headwater log repair PATH --config FILE",
    ),
    (
        "log-truncated",
        "The requested events were removed by retention.",
        "Start from the tail (headwater log info shows it) or take a new snapshot.",
    ),
    (
        "log-behind",
        "The requested events lie beyond the end of the log: it was replaced or restored.",
        "Check that the path is the log this consumer read before; else start it anew.",
    ),
    (
        "log-read-only",
        "The log or its directory cannot be written.",
        "Give this user write permission on the file and its directory.",
    ),
    (
        "log-disk-full",
        "The disk is full. The append was rolled back; nothing was lost.",
        "Free space or lower log.retention, then start again.",
    ),
    (
        "log-busy",
        "The log was locked by another process for longer than the time limit.",
        "It is retried; if it stays, look for a process that holds a long transaction on the file.",
    ),
    (
        "log-io",
        "The operating system refused to read or write the log.",
        "Check the disk (dmesg) and the permissions, then start again.",
    ),
    (
        "log-other-source",
        "The log holds the changes of another source; one log belongs to one source.",
        "Use another log path for this source.",
    ),
    (
        "cursor-unknown",
        "The log has no cursor with this name.",
        "List them with: headwater log info PATH",
    ),
    (
        "cursor-ahead",
        "A cursor may not move beyond the events that the log holds.",
        "Acknowledge only what was delivered.",
    ),
    (
        "cursor-backwards",
        "A cursor may not move backwards.",
        "To read again use another consumer name, or: headwater log rewind PATH NAME SEQUENCE",
    ),
    (
        "command-unknown",
        "The log knows no command of this number.",
        "headwater backfill status FILE shows what is being done.",
    ),
)
