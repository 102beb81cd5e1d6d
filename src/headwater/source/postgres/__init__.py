"""PostgreSQL as a source: logical replication, decoded column by column.

    config, connect        what the source is told; connections with pinned session settings
    lsn, names             positions in the write-ahead log; quoting identifiers
    types, render          PostgreSQL's types; their output text as canonical JSON
    catalog                tables, columns, keys and types as the server describes them
    pgoutput               the replication protocol's messages, many at a time; pure
    copytext               rows of COPY's text form, many at a time; pure
    slot, publication      the server's side of capture: made, checked, watched, dropped
    receive, spool         the stream's socket, read in gulps; transactions still in progress
    assemble               transactions to batches of events
    snapshot, watermark    existing rows: all tables at the start, single tables on a running stream
    place                  the position spelled out
    source                 the Source itself

Holds INV-2 (the slot is confirmed only up to what the log holds) and INV-9 (a lost slot or lost
write-ahead log is a gap, never silence).
May import: contract, event, errors, failpoint, secret, and psycopg.
"""

from headwater.source.postgres.config import OnGap, PostgresSourceConfig
from headwater.source.postgres.source import PostgresSource

__all__ = ["OnGap", "PostgresSource", "PostgresSourceConfig"]
