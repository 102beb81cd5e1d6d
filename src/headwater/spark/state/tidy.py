"""The state's own files: each batch adds a small one, so they are written together at times."""

from __future__ import annotations

import logging

from headwater.spark.state.columns import COMPACT_BYTES, MANY_FILES, RETAIN_S
from headwater.spark.table.upkeep import Upkeep

_LOG = logging.getLogger("headwater.spark")


def tidied(upkeep: Upkeep) -> bool:
    """Whether files were written together, or may have been; if that fails, they can wait.

    Streams of several consumers share the state, and may do it at the same time.
    """
    if upkeep.files().count <= MANY_FILES:
        return False
    try:
        upkeep.compact(COMPACT_BYTES)
        upkeep.expire(RETAIN_S)
    except Exception as exc:  # noqa: BLE001 - what the state says is written and right
        _LOG.warning("state not compacted", extra={"code": type(exc).__name__})
    return True
