"""A table of the lake: target.py says what a format must do, delta.py and iceberg do it.

layout.py has the columns that modes add, path.py the names of tables, merge.py and upsert.py the
statements, pruning.py their ranges of keys. generation.py is a table in the making, switch.py the
commit that makes it one, and deltalog.py the door to Delta's own log. parquet.py reads a folder of
appended changes, which is no table but amounts to one.
"""
