"""Pure functions from batch to batch, the same in the capture process and on Spark executors.

- `KeepTables` (tables.py): choose tables by glob. `Chain` (chain.py): several in a row.

May import: contract, event, errors.
"""

from headwater.transform.chain import Chain
from headwater.transform.tables import KeepTables

__all__ = ["Chain", "KeepTables"]
