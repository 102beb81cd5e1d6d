"""`headwater_state`: which versions of the tables belong together, and at which sequence number.

- entry.py: what the state says of one table, and when a set of tables is whole.
- table.py, columns.py: the table that holds it. publish.py: the commit that ends a micro-batch.
- store.py: where that table is, and the past of the others; in_delta.py, in_iceberg.py: each
  format's own way. readable.py: whether a version of a Delta table can still be read; rested.py:
  which later one has the same rows.
- as_of.py: the tables at one sequence number.
- positions.py: up to where each table has everything, from the state and from the table itself.

Holds: INV-7 for readers: a published set of versions shows every transaction whole or not at all.
"""
