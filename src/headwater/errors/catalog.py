"""Every error code: stable, with its meaning and its fix. Rooms append to their own section."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """What a code means and what to do about it."""

    code: str
    meaning: str
    fix: str


def _section(*rows: tuple[str, str, str]) -> dict[str, CodeEntry]:
    return {code: CodeEntry(code, meaning, fix) for code, meaning, fix in rows}


_GROUND = _section(
    (
        "failpoint",
        "A fault was injected on purpose through HEADWATER_FAILPOINT.",
        "Unset HEADWATER_FAILPOINT.",
    ),
)

_EVENT = _section(
    (
        "event-invalid",
        "An event breaks a rule of the envelope, for example an insert that has a before image.",
        "The source that produced it is at fault; report the event shown. Nothing was written.",
    ),
    (
        "event-schema",
        "A record batch does not have the columns of the event schema, or has another version.",
        "Build batches with EventBatch.from_columns, or upgrade the older side.",
    ),
    (
        "value-unencodable",
        "A database value has no canonical text form.",
        "Exclude the column, or cast it in the database to a type listed in docs/values.md.",
    ),
    (
        "value-mistyped",
        "A stored value does not have the type that the schema history gives its column.",
        "Declare the column with the type that it really holds.",
    ),
    (
        "position-invalid",
        "A stored source position is not a JSON object of primitive values.",
        "The log was written by something else; start from a copy or repair the log.",
    ),
)

_LOG = _section(
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
        "cursor-backwards",
        "A cursor may not move backwards.",
        "To read again use another consumer name, or: headwater log rewind PATH NAME SEQUENCE",
    ),
)

_RUNTIME = _section(
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
        "retries-exhausted",
        "The same step failed on every attempt.",
        "The cause is in the line above; fix it and start again. Nothing was lost.",
    ),
)

_SOURCE = _section(
    (
        "source-unknown",
        "No source is registered for this kind of URL.",
        "Supported: sqlite:///path/to/file.db",
    ),
    (
        "source-missing",
        "The source database does not exist or cannot be opened.",
        "Check the path and the permissions.",
    ),
    (
        "source-busy",
        "The source database is locked by another process.",
        "It is retried; if it stays, look for a long write transaction in the application.",
    ),
    (
        "source-gap",
        "Changes are missing between the log and the source.",
        "Choose source.on_gap: resnapshot to read the tables again, or accept to go on.",
    ),
)

_SPARK = _section(
    (
        "spark-missing",
        "PySpark is not installed.",
        "pip install 'headwater[spark]'",
    ),
    (
        "spark-java",
        "No usable Java was found.",
        "Install Java 17 and set JAVA_HOME.",
    ),
    (
        "spark-jars",
        "Spark's table-format jars could not be fetched.",
        "Connect to Maven Central once, or use --table-format parquet, which needs no jar.",
    ),
)

_APP = _section(
    (
        "config-missing",
        "The configuration file does not exist.",
        "Write one with: headwater init",
    ),
    (
        "config-syntax",
        "The configuration file is not valid YAML.",
        "Correct the line shown.",
    ),
    (
        "config-invalid",
        "A setting is unknown, missing or has the wrong type.",
        "Correct the path shown; headwater validate FILE checks it again.",
    ),
    (
        "config-variable",
        "A ${…} reference in the configuration cannot be resolved.",
        "Set the variable, or give a default with ${NAME:-default}.",
    ),
    (
        "secret-unresolved",
        "A secret could not be read from where it is kept.",
        "Set the environment variable or create the file that the configuration names.",
    ),
)

CATALOG: dict[str, CodeEntry] = {
    **_GROUND,
    **_EVENT,
    **_LOG,
    **_RUNTIME,
    **_SOURCE,
    **_SPARK,
    **_APP,
}


def explain(code: str) -> CodeEntry | None:
    """The catalog entry of a code, or None."""
    return CATALOG.get(code)
