"""What the events of a micro-batch mean for the rows of a table.

contents.py looks through the batch once; task.py is what one table is asked to take in; changes.py
turns events into changes of rows with typed columns (columns.py); latest.py leaves one row per key,
lives.py all that a key went through; moves.py completes rows that changed their key,
and sought.py joins keys with a table.
"""
