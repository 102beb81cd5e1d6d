"""Histories: changes of tables drawn from a seed, and what tables should hold after them.

- table.py: a table in Python that tells its changes; values.py: values of every type.
- changes.py: several such tables in transactions, as a source would hand them to a log.
- oracle.py: tables of every mode, told event by event. difference.py: how two tables differ.
- log.py: a log that holds such changes.
"""
