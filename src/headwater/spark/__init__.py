"""Spark: the log as a data source, and tables that follow it. The only room with pyspark.

- query.py: the running stream, from `source` into `apply`.
- apply: a micro-batch to all its tables. mode: what is kept of a table, one file per mode.
- keep: files written together and old ones removed, between batches.
- state: which versions of the tables belong together, and the tables as of a sequence number.
- checkpoint: the files of Spark's checkpoint, read and made anew.
- proof: tables as ranges of hashes or canonical rows, with the position that they stand at.
- functions: what can be done with frames of events, one by one.
- table: a table of the lake by format, its columns and its statements; target.py is their contract.
- change: what the events of a micro-batch mean for the rows of a table.
- source: `format("headwater")`, streaming and batch: events, or rows in typed columns.
- session.py, jars.py: a quiet session with the right jars. modes.py: which tables in which modes.
- progress.py: what Spark says of a stream. sql.py: names and values in statements.
- classic.py: which sessions can keep tables. gateway: the JVM, where PySpark has no door to it.

Holds: INV-10 (only available columns are written), exactly once per table and batch, INV-7 (state).
May import: deliver, contract, event, errors, failpoint.
"""
