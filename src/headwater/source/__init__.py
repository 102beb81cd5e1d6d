"""Sources: each turns one database's own record of changes into event batches and positions.

One package per database, none knows another: `postgres`, `sqlite`. `choice` says what to
say of tables that were asked for and are not there.

Holds: INV-9 (gaps stop the line). May import: contract, event, errors, failpoint, secret.
"""
