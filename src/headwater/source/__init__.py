"""Sources: each turns one database's own record of changes into event batches and positions.

One package per database, none knows another: `sqlite`.

Holds: INV-9 (gaps stop the line). May import: contract, event, errors, failpoint, secret.
"""
