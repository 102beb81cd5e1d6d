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
        "Exclude the column, or cast it in the database to a type listed in docs/guide/values.md.",
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
    (
        "source-read-only",
        "The source database cannot be written, and capture by triggers needs to.",
        "Give this user write permission on the database file and its directory.",
    ),
    (
        "source-not-a-database",
        "The file is not a SQLite database.",
        "Check the path in the source URL.",
    ),
    (
        "source-corrupt",
        "SQLite finds the source database damaged.",
        "Repair or restore it first: sqlite3 FILE 'PRAGMA integrity_check'",
    ),
    (
        "source-io",
        "The operating system refused to read or write the source database.",
        "Check the disk and the permissions, then start again.",
    ),
    (
        "sqlite-drift",
        "Tables changed since capture was installed, and it may not follow by itself.",
        "Run: headwater setup sqlite URL",
    ),
    (
        "sqlite-not-installed",
        "Change capture is not installed in this SQLite database.",
        "Install it with: headwater setup sqlite PATH",
    ),
    (
        "sqlite-format",
        "Another version of Headwater installed capture in this SQLite database.",
        "Upgrade Headwater; or read what is pending with the old one, uninstall and install again.",
    ),
    (
        "sqlite-no-table",
        "The SQLite database has no table of this name.",
        "Correct the name; headwater setup sqlite PATH lists the tables.",
    ),
    (
        "sqlite-not-capturable",
        "Triggers cannot record the changes of this table.",
        "Leave it out; the message says why.",
    ),
    (
        "sqlite-not-captured",
        "The table is not among the captured ones.",
        "Correct the name; headwater setup sqlite PATH lists the captured tables.",
    ),
)

_FORMAT = _section(
    (
        "format-bad-record",
        "A record is not an event in this format: cut, damaged or of another kind.",
        "Check that the format matches the producer; the record's place and the reason are shown.",
    ),
    (
        "format-unwritable",
        "An event holds something that the format has no room for.",
        "Choose another format for this stream; headwater-json carries every event.",
    ),
    (
        "avro-schema",
        "The Avro writer schema is not a schema of the envelope.",
        "Give a schema of the record io.rustcdc.Event, or leave the option out.",
    ),
    (
        "avro-missing",
        "The Avro format needs fastavro, which is not installed.",
        "pip install 'headwater[avro]'",
    ),
    (
        "protobuf-missing",
        "The Protobuf format needs protobuf, which is not installed.",
        "pip install 'headwater[protobuf]'",
    ),
    (
        "protobuf-not-built",
        "The Protobuf module is generated by the build, and this checkout was not built.",
        "python tools/build_proto.py (needs grpcio-tools), or install Headwater as a package.",
    ),
)

_SINK = _section(
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
        "spark-table-busy",
        "A target table changes faster than it can be read.",
        "Try again, or stop the pipeline for the comparison.",
    ),
    (
        "spark-jars",
        "Spark's table-format jars could not be fetched.",
        "Connect to Maven Central once, or use --table-format parquet, which needs no jar.",
    ),
)

_SPARK_TABLES = _section(
    (
        "spark-option",
        'An option of format("headwater") is missing or has a wrong value.',
        "Give at least the path: spark.read.format('headwater').load('shop.hwlog')",
    ),
    (
        "spark-other-log",
        "Spark's checkpoint was made with another log.",
        "Point to the log that it was made with, or use a new checkpoint folder.",
    ),
    (
        "spark-no-key",
        "A table without a primary key cannot be mirrored row by row.",
        "Give it a primary key, or leave it out with spark.tables.",
    ),
    (
        "spark-type-changed",
        "A column has another type at the source than in the mirrored table.",
        "Run the statement shown, or mirror into a new table.",
    ),
    (
        "spark-master",
        "The command line starts local Spark sessions only.",
        "Submit the job to the cluster and call headwater.app.spark.TableJob there.",
    ),
    (
        "spark-start",
        "Spark's JVM did not start.",
        "Look into the log folder that the message names; headwater doctor checks Java.",
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
        "sink-unknown",
        "No sink of this type is registered.",
        "headwater version lists the sinks.",
    ),
    (
        "format-unknown",
        "No wire format of this name is registered.",
        "headwater version lists the formats.",
    ),
    (
        "table-unknown",
        "A table name or pattern of the configuration matches no table.",
        "Correct the name, or run headwater doctor FILE to see which tables there are.",
    ),
    (
        "file-exists",
        "The file is there already and would be overwritten.",
        "Choose another name, or say --force.",
    ),
    (
        "file-unwritable",
        "The file cannot be written.",
        "Choose a directory that this user may write to.",
    ),
    (
        "machine-python",
        "This Python is too old.",
        "Install Python 3.11 or newer.",
    ),
    (
        "machine-sqlite",
        "The SQLite library of this Python is too old.",
        "Use a Python that was built with SQLite 3.37 or newer.",
    ),
    (
        "machine-disk",
        "Little disk space is left.",
        "Free some space, or lower log.retention.",
    ),
    (
        "log-open-to-others",
        "The log holds row data and other users of this machine can read it.",
        "chmod 600 the file.",
    ),
    (
        "tail-start",
        "The place to read from is not a place in the log.",
        "Use --from earliest, --from latest or --from SEQUENCE.",
    ),
    (
        "code-unknown",
        "There is no error code of this name.",
        "headwater explain lists all codes.",
    ),
    (
        "verify-differs",
        "A target table does not equal its source table.",
        "headwater verify FILE lists the differing keys; headwater tail FILE --key KEY shows one.",
    ),
    (
        "demo-writer",
        "The sample writer of the demo ended with an error.",
        "Run the demo again in another directory: headwater demo --directory DIR",
    ),
    (
        "verify-undecidable",
        "An event does not carry the whole row, so it cannot be replayed for the comparison.",
        "Let the target catch up (headwater run FILE --once), then verify again.",
    ),
    (
        "verify-no-target",
        "There is nothing to compare the source with.",
        "Add a spark section to the configuration.",
    ),
    (
        "verify-timeout",
        "The log did not reach the source's position within the time limit.",
        "Start capture (headwater run FILE) or raise --timeout.",
    ),
    (
        "server-bind",
        "The status server cannot listen on the configured address.",
        "Set server.port to a free port, or to 0 for any.",
    ),
    (
        "server-missing",
        "Starlette and uvicorn, which the status server needs, are not installed.",
        "pip install 'headwater[server]', or set server.enabled: false.",
    ),
    (
        "server-unprotected",
        "The status server may not listen beyond this machine without a token.",
        "Set server.token: ${HEADWATER_TOKEN}, or server.host: 127.0.0.1.",
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
    **_SINK,
    **_FORMAT,
    **_SPARK,
    **_SPARK_TABLES,
    **_APP,
}


def explain(code: str) -> CodeEntry | None:
    """The catalog entry of a code, or None."""
    return CATALOG.get(code)
