"""Ground: one error base, whose classes say what the caller can do, and the catalog of codes.

`kinds` holds the classes (fix the configuration, prepare the machine, retry, stop, set the record
aside, correct the call); `catalog` names every stable code with its meaning and its fix, and is the
source of `headwater explain CODE` and of the errors page in the docs.

May import: the standard library.
"""

from headwater.errors.catalog import CATALOG, CodeEntry, explain
from headwater.errors.kinds import (
    ConfigError,
    CorruptionError,
    DataError,
    FencedError,
    GapError,
    HeadwaterError,
    MachineError,
    StateError,
    TransientError,
)

__all__ = [
    "CATALOG",
    "CodeEntry",
    "ConfigError",
    "CorruptionError",
    "DataError",
    "FencedError",
    "GapError",
    "HeadwaterError",
    "MachineError",
    "StateError",
    "TransientError",
    "explain",
]
