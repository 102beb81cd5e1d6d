"""PostgreSQL's replication messages (pgoutput, protocol 1 to 4), many at a time. Pure: no I/O.

    messages     what the messages say, as values
    decoder      the Decoder: bytes in, Decoded out; relations and open blocks are its only state
    blocks       which messages lie inside a streamed block, and so where their content begins
    single       the rare messages, read one by one
    relations    which version of a relation a row was written under
    tuples       where each column's text lies, found column by column for all rows at once
    images       those texts as JSON images
    rows         inserts, updates and deletes in columns
    wire         big-endian numbers at many places, bounds, and the protocol error

Whatever the bytes are, the only errors are `postgres-protocol`, `postgres-two-phase` and what the
renderers say of a value.
"""

from headwater.source.postgres.decode.pgoutput.decoder import Decoded, Decoder
from headwater.source.postgres.decode.pgoutput.messages import (
    Begins,
    Commits,
    Control,
    LogicalMessage,
    Origin,
    Relation,
    RelationColumn,
    RelationSeen,
    Shape,
    ShapeOf,
    StreamAbort,
    StreamCommit,
    StreamStart,
    StreamStop,
    Truncate,
    TypeSeen,
)
from headwater.source.postgres.decode.pgoutput.rows import Rows

__all__ = [
    "Begins",
    "Commits",
    "Control",
    "Decoded",
    "Decoder",
    "LogicalMessage",
    "Origin",
    "Relation",
    "RelationColumn",
    "RelationSeen",
    "Rows",
    "Shape",
    "ShapeOf",
    "StreamAbort",
    "StreamCommit",
    "StreamStart",
    "StreamStop",
    "Truncate",
    "TypeSeen",
]
