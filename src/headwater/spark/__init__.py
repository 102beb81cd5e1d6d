"""Spark: the log as a data source, and tables that follow it. The only room with pyspark.

- datasource.py: `format("headwater")`, streaming and batch; frame.py: an event batch as Spark rows.
- formats.py: frames of events to frames of records of any format, and back.
- session.py, jars.py: a quiet session with the right jars.
- columns.py (logical types to columns), latest.py (one row per key), delta.py and parquet.py (what
  is done to a table), mirror.py (a micro-batch to its tables), query.py (the running stream).
- rows.py, applied.py: tables read back as canonical rows, with the position that they stand at.

Holds: INV-10 (only available columns are written), exactly once per table and batch.
May import: deliver, contract, event, errors, failpoint.
"""
