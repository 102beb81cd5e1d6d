"""PostgreSQL for the commands: what its source adds to a pipeline beyond reading changes.

target.py finds the database that a command means; tables.py looks into it, setup.py prepares it,
slots.py lists and drops slots, rows.py reads its rows for a proof.
"""
