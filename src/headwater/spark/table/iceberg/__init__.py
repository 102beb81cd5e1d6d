"""Iceberg tables: target.py implements the contract, on Spark 4.1.

catalog.py says under which name Spark knows a table, columns.py which columns it has. metadata.py
is the door to Iceberg's API, history.py reads positions in it. publish.py makes a
private branch the table, if nobody else has written meanwhile. generation.py is a branch that a new
table is loaded on. upkeep.py looks after files.
"""

from headwater.spark.table.iceberg.catalog import CATALOG_PREFIX
from headwater.spark.table.iceberg.target import IcebergTarget, IcebergTargets

__all__ = ["CATALOG_PREFIX", "IcebergTarget", "IcebergTargets"]
