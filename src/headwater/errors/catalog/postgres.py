"""PostgreSQL as a source."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "postgres-unreachable",
        "The PostgreSQL server cannot be reached, or it ended the connection.",
        "It is retried; check host, port, firewall and whether the server runs: pg_isready -h HOST",
    ),
    (
        "postgres-auth",
        "The PostgreSQL server does not let this user in.",
        "Check user, password or certificate, and that pg_hba.conf admits them to the database.",
    ),
    (
        "postgres-no-replication",
        "The PostgreSQL server, or a pooler before it, gives no replication connection.",
        "Connect past the pooler, or raise max_wal_senders; or choose source.transport: sql.",
    ),
    (
        "postgres-tls",
        "The encrypted connection to the PostgreSQL server could not be made.",
        "Check sslmode, sslrootcert, sslcert and sslkey in the source URL.",
    ),
    (
        "postgres-no-database",
        "The PostgreSQL server has no database of this name.",
        "Correct the database's name in the source URL.",
    ),
    (
        "postgres-privilege",
        "The PostgreSQL user lacks a right that capture needs.",
        "GRANT SELECT ON the captured tables and USAGE ON their schemas; ALTER ROLE … REPLICATION.",
    ),
    (
        "postgres-busy",
        "The PostgreSQL server is out of connections or memory, or a lock did not come in time.",
        "It is retried; if it stays, look at pg_stat_activity for long transactions and locks.",
    ),
    (
        "postgres-limit",
        "A limit in the PostgreSQL server's configuration is used up.",
        "Raise max_replication_slots or max_wal_senders and restart the server, or drop old slots.",
    ),
    (
        "postgres-read-only",
        "The PostgreSQL server is a standby or read-only, and this needs to write.",
        "Connect to the primary: add target_session_attrs=read-write to the source URL.",
    ),
    (
        "postgres-server",
        "The PostgreSQL server refused a command.",
        "The message has the server's own words and its code; the server's log may say more.",
    ),
    (
        "postgres-version",
        "This PostgreSQL version is too old for capture.",
        "Use PostgreSQL 14 or newer.",
    ),
    (
        "postgres-wal-level",
        "The PostgreSQL server does not write what logical replication needs.",
        "ALTER SYSTEM SET wal_level = 'logical'; then restart the server.",
    ),
    (
        "postgres-slot-active",
        "Another process reads from the replication slot.",
        "It is retried; after a broken connection the server frees it within wal_sender_timeout.",
    ),
    (
        "postgres-slot-missing",
        "The replication slot is gone, and with it the changes since the last one captured.",
        "Choose source.on_gap: resnapshot to read the tables again, or accept to go on.",
    ),
    (
        "postgres-slot-exists",
        "A replication slot of this name exists already, and the log did not make it.",
        "Choose another name as source.slot, or drop it: SELECT pg_drop_replication_slot('NAME')",
    ),
    (
        "postgres-slot-wrong",
        "The replication slot of this name is not one that this source can use.",
        "Choose another name as source.slot, or drop it: SELECT pg_drop_replication_slot('NAME')",
    ),
    (
        "postgres-wal-lost",
        "The server has removed log that the replication slot still needed.",
        "Choose source.on_gap: resnapshot, and raise max_slot_wal_keep_size on the server.",
    ),
    (
        "postgres-other-server",
        "The checkpoint belongs to another PostgreSQL server, or to a past that was rolled back.",
        "Connect to the server that was captured, or choose source.on_gap: resnapshot.",
    ),
    (
        "postgres-publication",
        "The publication is missing or does not hold the chosen tables, and may not be changed.",
        "Run the SQL in the message as the tables' owner.",
    ),
    (
        "postgres-publication-gone",
        "The publication did not hold a captured table all the time: changes of it were not sent.",
        "Choose source.on_gap: resnapshot or accept, or begin with a new slot and log.path.",
    ),
    (
        "postgres-no-table",
        "No table of the database matches the configuration.",
        "Correct source.tables; headwater setup postgres URL lists the tables.",
    ),
    (
        "postgres-no-identity",
        "A table has no replica identity: published, it would refuse updates and deletes.",
        "Give it a primary key, or ALTER TABLE … REPLICA IDENTITY FULL, or exclude it.",
    ),
    (
        "postgres-protocol",
        "The replication stream holds bytes that the protocol does not allow.",
        "Restart: it reads again from the last position. If it stays, report the server's version.",
    ),
    (
        "postgres-two-phase",
        "The replication slot sends prepared transactions, which this source does not read.",
        "Drop the slot and let Headwater create it, without two_phase.",
    ),
)
