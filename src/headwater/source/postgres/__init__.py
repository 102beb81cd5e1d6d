"""PostgreSQL as a source: logical replication, decoded column by column.

    config, place                what the source is told; the position spelled out
    names, lsn                   quoting identifiers; positions in the write-ahead log
    server/                      the server's side: connections, catalog, publication, slot
    decode/                      messages, COPY's rows and values to columns; pure
    shapes, numbers, events      schemas of the history; which column is which; columns of events
    stream/                      the running stream: socket, transactions, batches
    tables/                      the rows that exist, in chunks of pages
    session, load, backfill      one opening; its first load; rows owed beside the stream
    source                       the Source itself

Holds INV-2 (the slot is confirmed only up to what the log holds) and INV-9 (a lost slot or lost
write-ahead log is a gap, never silence).
May import: contract, event, errors, failpoint, secret, and psycopg.
"""

from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.source import PostgresSource

__all__ = ["PostgresSource", "PostgresSourceConfig"]
