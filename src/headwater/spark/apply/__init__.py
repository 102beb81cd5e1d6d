"""A micro-batch to its tables: several at once, each exactly once, in sessions of their own.

tables.py applies it; loads.py takes what belongs to a table that is still being loaded; sessions.py
has the sessions; parquet.py is the apply without tables. look.py finds out what a batch holds,
typed_reads.py asks the source for rows, memory.py is what is known from one run to the next.
"""
