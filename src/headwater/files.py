"""Ground: making changes of files last.

A file that was made, renamed or removed is safe only when its directory is.
"""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Return when the directory's entries are durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
