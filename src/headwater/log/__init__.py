"""The durable record: one SQLite file whose rows are Arrow batches.

- `SqliteLog` (file.py) is the door: `writer`, `reader`, `cursor`, `commands`, `info`, `check`,
  `retain`.
- layout.py (tables), connection.py (pragmas, error translation), payload.py (bytes and checksum),
  lease.py (one writer), writer.py, reader.py, cursor.py, commands.py, proofs.py, taken.py,
  retention.py, check.py, salvage.py, carry.py (places carried to another file).

Holds: INV-1 (cursor.py), INV-5 and INV-6 and INV-7 (writer.py), INV-8 (writer.py, reader.py).
May import: contract, event, errors, failpoint.
"""

from headwater.log.check import Damage
from headwater.log.cursor import CursorInfo, CursorPlace
from headwater.log.file import Hole, LogInfo, SqliteLog
from headwater.log.proofs import Compared, ProofInfo
from headwater.log.retention import RetentionPolicy, RetentionReport
from headwater.log.taken import TakenInfo

__all__ = [
    "Compared",
    "CursorInfo",
    "CursorPlace",
    "Damage",
    "Hole",
    "LogInfo",
    "ProofInfo",
    "RetentionPolicy",
    "RetentionReport",
    "SqliteLog",
    "TakenInfo",
]
