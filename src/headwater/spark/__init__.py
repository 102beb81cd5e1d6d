"""Spark: the log as a data source, and tables that follow it. The only room with pyspark.

- datasource.py: `format("headwater")`, streaming and batch; frame.py: an event batch as Spark rows.
- formats.py: frames of events to frames of records of any format, and back.
- session.py, jars.py: a quiet session with the right jars.
- batch.py and changes.py: what a micro-batch holds, and says of one table; columns.py: its types.
- tables.py: a micro-batch to its tables, by modes.py; delta.py, upsert.py: what is done to a table.
- A mode each: mirror.py (of latest.py, one row per key), soft_delete.py and scd2.py (of lives.py,
  all that a key went through), append_log.py; layout.py has their columns, moves.py changed keys.
- parquet.py: an append log that needs no jar. query.py: the running stream.
- rows.py, applied.py: tables read back as canonical rows, with the position that they stand at.

Holds: INV-10 (only available columns are written), exactly once per table and batch.
May import: deliver, contract, event, errors, failpoint.
"""
