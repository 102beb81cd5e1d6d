"""Sources."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "source-unknown",
        "No source is registered for this kind of URL.",
        "Supported: sqlite:///path/to/file.db and postgresql://USER:PASSWORD@HOST/DATABASE",
    ),
    (
        "postgres-missing",
        "PostgreSQL's driver, psycopg, is not installed or cannot be loaded.",
        "pip install 'headwater[postgres]'",
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
    (
        "backfill-unsupported",
        "This source cannot read existing rows beside its stream.",
        "Capture into a new log instead: its first load reads every row.",
    ),
    (
        "backfill-table",
        "The table whose rows are asked for is not captured.",
        "Correct the name, or add the table to source.tables and start headwater run FILE again.",
    ),
    (
        "backfill-no-key",
        "A table without a key cannot be read again: its rows would stand twice.",
        "Give the table a primary key.",
    ),
    (
        "backfill-where",
        "The database refuses the condition, or it is more than one condition.",
        'Write it as after WHERE: headwater backfill start FILE TABLE --where "id > 100"',
    ),
    (
        "backfill-key",
        "What is asked for is no key of the table.",
        "A key is a JSON object of all key columns with plain values.",
    ),
    (
        "backfill-running",
        "The same rows are being read already.",
        "headwater backfill status FILE shows how far they are.",
    ),
    (
        "backfill-none",
        "There is nothing to pause, resume, stop or throttle.",
        "headwater backfill status FILE shows what is being read.",
    ),
    (
        "backfill-failed",
        "The database gave an error while the rows were read.",
        "headwater backfill stop FILE, then start again with a condition that fits every row.",
    ),
)
