"""A commit that happens only if the table is still what the rows were worked out from.

Iceberg's own check compares files: a driver that was overtaken could still add a row that its
successor took in and deleted again, for no file tells of that. So the statement writes to a private
branch, and main is moved to it only while it still stands at the branch's base. That move is one
commit of metadata, and notes the position in the properties too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from headwater.failpoint import failpoint
from headwater.spark.table.iceberg.history import LOG, SEQUENCE, SNAPSHOT, History

BRANCH = "headwater_"
Table = Any  # an org.apache.iceberg.Table, on the other side of the gateway


class OvertakenError(Exception):
    """Somebody else took the branch away."""


def publish(
    table: Table, history: History, position: tuple[str, int], work: Callable[[str], None]
) -> None:
    """Let `work` write to a branch by its name, and make that the table.

    Raises whatever Iceberg does if the table is no longer at `history.current`.
    """
    log_id, until = position
    branch = f"{BRANCH}{uuid4().hex}"
    table.manageSnapshots().createBranch(branch, history.current).commit()
    try:
        work(branch)
        table.refresh()
        made = table.snapshot(branch)
        # Iceberg would make a missing branch anew, from whatever main is by now.
        if made is None or made.parentId() != history.current:
            raise OvertakenError(f"branch {branch} does not come from {history.current}")
        failpoint("spark.iceberg.before_publish")
        transaction = table.newTransaction()
        refs = transaction.manageSnapshots().fastForwardBranch("main", branch)
        # Ours, those that killed drivers left, and those of drivers that are too late from now on.
        for each in [name for name in table.refs() if name.startswith(BRANCH)]:
            refs = refs.removeBranch(each)
        refs.commit()
        noted = transaction.updateProperties().set(LOG, log_id).set(SEQUENCE, str(until))
        noted.set(SNAPSHOT, str(made.snapshotId())).commit()
        transaction.commitTransaction()
        failpoint("spark.iceberg.after_publish")
    except Exception:
        _forget(table, branch)
        raise


def _forget(table: Table, branch: str) -> None:
    """What cannot be removed now is removed with the next commit."""
    with suppress(Exception):
        table.refresh()
        if table.refs().containsKey(branch):
            table.manageSnapshots().removeBranch(branch).commit()
