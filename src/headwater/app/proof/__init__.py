"""Proof that target tables equal their source, for tables of any size.

- prove.py: `headwater verify`, for a configuration. choice.py: its tables. mend.py: `--repair`.
- verifier.py: both sides at one event of the log, table by table.
- ranges.py: rows as hashes, and ranges of them. narrow.py: from ranges that differ to keys.
- encoding.py: the text that a row is hashed as. spill.py: the source's hashes, in a file.
- target.py: what is asked of the target. spark_side.py: its hashes, added up by Spark.
- between.py: the log between the target's moment and the source's. roll.py: what it says of a
  table's rows. part.py: of which it says a part.
- result.py: the proof as plain values.
"""
