"""`headwater_state`: which versions of the tables belong together, and at which sequence number.

- entry.py: what the state says of one table, and when a set of tables is whole.
- table.py: the Delta table that holds it. publish.py: the commit that ends a micro-batch.
- as_of.py: the tables at one sequence number. readable.py: whether a version can still be read.
- positions.py: up to where each table has everything, from the state and from the table itself.

Holds: INV-7 for readers: a published set of versions shows every transaction whole or not at all.
"""
