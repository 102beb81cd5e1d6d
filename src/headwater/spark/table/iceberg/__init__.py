"""Iceberg tables: target.py implements the contract, on Spark 4.1.

catalog.py says under which name Spark knows a table, history.py reads positions out of a table's
metadata, publish.py makes a private branch the table, if nobody else has written meanwhile.
"""

from headwater.spark.table.iceberg.catalog import CATALOG_PREFIX
from headwater.spark.table.iceberg.target import IcebergTarget, IcebergTargets

__all__ = ["CATALOG_PREFIX", "IcebergTarget", "IcebergTargets"]
