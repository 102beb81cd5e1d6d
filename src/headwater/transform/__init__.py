"""Pure functions from batch to batch, the same in the capture process and on Spark executors.

- `KeepTables` (tables.py): choose tables by glob. `KeepRows` (rows.py): choose rows by a value.
- `Chain` (chain.py): several in a row.

Holds: INV-11 (a filter that cannot be decided delivers nothing).
May import: contract, event, errors.
"""

from headwater.transform.chain import Chain
from headwater.transform.rows import KeepRows
from headwater.transform.tables import KeepTables

__all__ = ["Chain", "KeepRows", "KeepTables"]
