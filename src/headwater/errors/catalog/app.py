"""Configuration, commands and files."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "config-missing",
        "The configuration file does not exist.",
        "Write one with: headwater init FILE",
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
        "column-unknown",
        "A column that the configuration names is not in its table.",
        "Correct the name: it is compared exactly, with its case.",
    ),
    (
        "entity-unknown",
        "No table is the entity that the configuration names.",
        "Correct the name: it is compared exactly, with its case.",
    ),
    (
        "cdc-without-effect",
        "A field of the compiled schema's cdc section changes nothing here.",
        "Remove it there, or set what decides instead; the message names it.",
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
        "An event does not tell which row it changed into what, so its table cannot be compared.",
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
        "verify-behind",
        "More changes wait for a table than can be compared beside it.",
        "Let the tables catch up (headwater run FILE --once), then verify again.",
    ),
    (
        "verify-no-space",
        "The hashes of a table's rows do not fit on the disk.",
        "Set TMPDIR to a disk with 32 bytes and the key for each row of the tables.",
    ),
    (
        "verify-repair-no-key",
        "Rows of a table without a key cannot be read again one by one.",
        "Remove the table from the target and let it be loaded anew, or leave it out: --tables.",
    ),
    (
        "verify-repair-too-many",
        "More keys differ than a repair reads again.",
        "Raise --max-keys, or read the table whole: headwater backfill start FILE TABLE.",
    ),
    (
        "verify-repair-waiting",
        "The rows were asked for again, and the tables do not have them yet.",
        "See that headwater run FILE works, raise --timeout, then verify again.",
    ),
    (
        "verify-unordered",
        "While the source was read, transactions became visible in another order than committed.",
        "Run headwater verify FILE again.",
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
    (
        "slot-unknown",
        "The PostgreSQL server has no replication slot of this name.",
        "headwater slots list URL shows the slots there are.",
    ),
    (
        "postgres-timeout",
        "The PostgreSQL server would give up the stream or the slot too soon.",
        "Raise wal_sender_timeout, or set idle_replication_slot_timeout = 0.",
    ),
    (
        "postgres-plaintext",
        "The connection to the PostgreSQL server leaves this machine and is not encrypted.",
        "Add sslmode=verify-full and sslrootcert to the source.",
    ),
    (
        "postgres-superuser",
        "Capture runs as a superuser of the PostgreSQL server, and needs much less.",
        "headwater setup postgres URL --role NAME gives another role just what it needs.",
    ),
    (
        "postgres-no-key",
        "A table has no key: its equal rows cannot be told apart.",
        "Give it a primary key; without one it cannot be mirrored in Delta.",
    ),
    (
        "postgres-deferrable-key",
        "A primary key is DEFERRABLE: PostgreSQL lets rows pass through each other's keys.",
        "Make it NOT DEFERRABLE by the statement shown; until then the table has no key.",
    ),
    (
        "postgres-identity-full",
        "A wide table has REPLICA IDENTITY FULL: each update writes every old column to the log.",
        "ALTER TABLE … REPLICA IDENTITY DEFAULT, if the row before the change is not needed.",
    ),
    (
        "postgres-unlogged",
        "An unlogged table is not in the server's log, so its changes cannot be captured.",
        "ALTER TABLE … SET LOGGED, or name it in source.exclude.",
    ),
    (
        "postgres-generated",
        "Generated columns are not captured: the stream does not carry them.",
        "Compute them from the other columns where the changes are used.",
    ),
    (
        "postgres-wal-retained",
        "The slot holds much of the log that the server may keep for it, and could be lost.",
        "Start the pipeline, or raise max_slot_wal_keep_size.",
    ),
    (
        "postgres-wal-unlimited",
        "The server keeps log for slots without limit: an unread slot fills its disk.",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();",
    ),
    (
        "postgres-old-transaction",
        "A transaction that has been open for long keeps the server from removing log.",
        "End it: SELECT pg_terminate_backend(PID), or ROLLBACK PREPARED 'NAME'.",
    ),
    (
        "postgres-failover",
        "After a failover the standby would not have the slot, or would be behind it.",
        "PostgreSQL 17: source.failover, synchronized_standby_slots, sync_replication_slots.",
    ),
    (
        "postgres-role",
        "The PostgreSQL server has no role of this name.",
        "CREATE ROLE … LOGIN REPLICATION PASSWORD '…', then run the command again.",
    ),
    (
        "backfill-interrupted",
        "Capture ended before the rows were read.",
        "Start it again: headwater run FILE. The reading goes on by itself.",
    ),
)
