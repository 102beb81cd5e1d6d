"""A commit that happens only if the table is still what the rows were worked out from.

Iceberg's own check compares files: a driver that was overtaken could still add a row that its
successor took in and deleted again, for no file tells of that. So the statement writes to a private
branch, and the table's own branch is moved to it only while it still stands at the private one's
base. That move is one commit of metadata; of main it notes the position in the properties too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from headwater.failpoint import failpoint
from headwater.spark.table.iceberg.history import LOG, SEQUENCE, SNAPSHOT

MAIN = "main"
# What a table in the making is filled on: see generation.py.
LOAD = "headwater_load"
_OURS = "headwater_"
PRIVATE = f"{_OURS}batch_"
Table = Any  # an org.apache.iceberg.Table, on the other side of the gateway


class OvertakenError(Exception):
    """Somebody else took the branch away."""


def publish(
    table: Table, onto: str, base: int, position: tuple[str, int], work: Callable[[str], None]
) -> None:
    """Let `work` write to a branch by its name, and move the branch `onto` there.

    Raises whatever Iceberg does if `onto` is no longer at `base`; main may be yet to come.
    """
    branch = f"{PRIVATE}{uuid4().hex}"
    table.manageSnapshots().createBranch(branch, base).commit()
    try:
        work(branch)
        table.refresh()
        made = table.snapshot(branch)
        # Iceberg would make a missing branch anew, from whatever main is by now.
        if made is None or made.parentId() != base:
            raise OvertakenError(f"branch {branch} does not come from {base}")
        if onto != MAIN and not table.refs().containsKey(onto):
            raise OvertakenError(f"branch {onto} is gone")
        failpoint("spark.iceberg.before_publish")
        transaction = table.newTransaction()
        refs = transaction.manageSnapshots().fastForwardBranch(onto, branch)
        # Ours, those that killed drivers left, and those of drivers that are too late from now on.
        ended = _OURS if onto == MAIN else PRIVATE
        for each in [name for name in table.refs() if name.startswith(ended)]:
            refs = refs.removeBranch(each)
        refs.commit()
        if onto == MAIN:
            _note(transaction, position, made.snapshotId())
        transaction.commitTransaction()
        failpoint("spark.iceberg.after_publish")
    except Exception:
        _forget(table, branch)
        raise


def _note(transaction: Any, position: tuple[str, int], snapshot: int) -> None:
    log_id, until = position
    noted = transaction.updateProperties().set(LOG, log_id).set(SEQUENCE, str(until))
    noted.set(SNAPSHOT, str(snapshot)).commit()


def _forget(table: Table, branch: str) -> None:
    """What cannot be removed now is removed with the next commit."""
    with suppress(Exception):
        table.refresh()
        if table.refs().containsKey(branch):
            table.manageSnapshots().removeBranch(branch).commit()
