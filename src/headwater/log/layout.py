"""The tables of a log file and the version of their layout.

A reader sees only sequence numbers up to `state.head`. Pieces of a transaction that is still open
are stored beyond the head, and become visible by moving the head: one row, one commit (INV-7).

The version is that of what a program must know to read or write events. Tables beside them that an
older program may ignore are added to a log of the same version, when it is next opened for writing.
"""

from __future__ import annotations

APPLICATION_ID = 0x48574C47  # "HWLG": `file` and doctors can tell a log from any other database
LAYOUT_VERSION = 1

# A batch is written page by page into the write-ahead log, two system calls each: bigger pages make
# big commits cheap and small ones a little dearer. benchmarks/log is where the choice was measured.
PAGE_SIZE = 16384
# Folding the write-ahead log back makes one commit wait: 1.5 ms per MiB and two fsyncs. Folding 4
# MiB at a time keeps that wait short; folding less would make the fsyncs felt.
WAL_PAGES = 256

DDL = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    tail INTEGER NOT NULL,
    head INTEGER NOT NULL,
    position TEXT,
    appended_at_ms INTEGER NOT NULL
);
INSERT INTO state VALUES (1, 0, 1, 0, NULL, 0);

CREATE TABLE segment (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    closes INTEGER NOT NULL,
    max_ts_ms INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    payload BLOB NOT NULL
);

CREATE TABLE schema_version (
    schema_id INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    definition TEXT NOT NULL
);

CREATE TABLE cursor (
    name TEXT PRIMARY KEY,
    acked INTEGER NOT NULL,
    required INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE hole (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    reason TEXT NOT NULL,
    restored_by INTEGER
);
"""

# AUTOINCREMENT: a number is never given twice, so a source can tell what it took by a number alone.
ADDED = (
    """CREATE TABLE IF NOT EXISTS command (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        wish TEXT NOT NULL,
        asked_at_ms INTEGER NOT NULL,
        answered_at_ms INTEGER,
        answer TEXT
    )""",
    # Kept when the command itself has been forgotten: its name must not be asked again.
    """CREATE TABLE IF NOT EXISTS asked_once (
        name TEXT PRIMARY KEY,
        id INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS command_waiting ON command (id) WHERE answered_at_ms IS NULL",
    """CREATE TABLE IF NOT EXISTS report (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        owed TEXT NOT NULL,
        reported_at_ms INTEGER NOT NULL
    )""",
    # A table whose rows are being read: since when, its last row so far, and whether it has all.
    """CREATE TABLE IF NOT EXISTS load (
        name TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        done INTEGER NOT NULL,
        PRIMARY KEY (name, first_seq)
    ) WITHOUT ROWID""",
    # A target table, by a name for the target: how it was found last, and when it was last equal.
    """CREATE TABLE IF NOT EXISTS proof (
        target TEXT NOT NULL,
        name TEXT NOT NULL,
        equal INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        equal_seq INTEGER,
        equal_at_ms INTEGER,
        rows INTEGER,
        hash TEXT,
        PRIMARY KEY (target, name)
    ) WITHOUT ROWID""",
    # A target table after the last batch that it took, and why it was parked if it was.
    """CREATE TABLE IF NOT EXISTS taken (
        target TEXT NOT NULL,
        name TEXT NOT NULL,
        seq INTEGER NOT NULL,
        events INTEGER NOT NULL,
        seconds REAL NOT NULL,
        at_ms INTEGER NOT NULL,
        parked TEXT,
        PRIMARY KEY (target, name)
    ) WITHOUT ROWID""",
)
