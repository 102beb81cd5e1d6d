"""Proof that target tables equal their source, for tables of any size.

- prove.py: `headwater verify`, for a configuration. choice.py: of which tables.
- mend.py: `--repair`.
- verifier.py: both sides at one event of the log, table by table.
- ranges.py: rows as hashes, and ranges of them. narrow.py: from ranges that differ to keys.
- encoding.py: the text that a row is hashed as. spill.py: the source's hashes, in a file.
- spark_side.py: the target's hashes, added up by Spark.
- roll.py: what the log says between the target's moment and the source's.
- result.py: the proof as plain values.
"""
