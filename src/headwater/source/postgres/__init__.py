"""PostgreSQL as a source: logical replication, decoded column by column.

    config, connect, refusal     what the source is told; connections, and why one was refused
    names, lsn                   quoting identifiers; positions in the write-ahead log
    server, catalog, typecatalog what the server is; its tables; its types
    publication, slot, install   the server's side of capture: made, checked, dropped
    types, logical, render       types; their logical types; their output text as canonical JSON
    pgoutput, copytext, spans    messages and COPY's rows, many at a time; pure
    copyboth, receive, mailbox   the stream's socket, read in gulps by a thread of its own
    spool, transactions          transactions in progress; which one a change belongs to
    shapes, events, notices      schemas of the history; columns of events; events about tables
    assemble, streaming          gulps to batches; the running stream
    chunk, copying, pieces       rows of a table by ranges of pages, as batches
    snapshot, load               the first load, in the snapshot that the slot begins with
    watermark, overlay, backfill rows read beside the running stream; throttle holds them back
    watch                        looking after the slot
    place, session, source       the position spelled out; one opening; the Source itself

Holds INV-2 (the slot is confirmed only up to what the log holds) and INV-9 (a lost slot or lost
write-ahead log is a gap, never silence).
May import: contract, event, errors, failpoint, secret, and psycopg.
"""

from headwater.source.postgres.config import OnGap, PostgresSourceConfig
from headwater.source.postgres.source import PostgresSource

__all__ = ["OnGap", "PostgresSource", "PostgresSourceConfig"]
