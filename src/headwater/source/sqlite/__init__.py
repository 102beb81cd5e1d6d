"""SQLite as a source: a database file that any process writes, captured by triggers.

    identifiers, tokens   quoting names; reading the texts that only the schema table holds
    introspect            the database as values
    layout                our tables inside the user's database
    triggers, guard       the SQL of capture: recording changes; rows that REPLACE removes
    generation, numbers   what is installed, and how old change rows are read; which column is which
    drift                 how a schema moved since
    install               install, upgrade, release, uninstall
    config, connect       what the source is told; connections and their errors
    types, image          logical types; row images as SQL, one expression for every path
    catalog, follow       the schema at one moment; following it when it moves
    place                 the position spelled out
    changes, snapshot     reading change rows; reading tables in chunks
    events, notices       columns of events; events about tables
    session               one opening: where it stands, and what each look shows
    source, prune         the Source itself; forgetting what is confirmed

Holds INV-9: a rebuilt table or a lost trigger is drift with broken trust, never silence.
May import: contract, event, errors, failpoint and the standard library's sqlite3.
"""

from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.source.sqlite.source import SqliteSource

__all__ = ["SqliteSource", "SqliteSourceConfig"]
