"""Which transaction each change of a decoded run belongs to. Pure arithmetic on columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from headwater.source.postgres.decode.pgoutput import Begins, Commits

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun and not ended: `events` of it are already handed on.

    `numbered` of them came from the server's own messages and are the same on every replay; the
    others tell of a shape that this process saw change, and another process may not.
    """

    xid: int
    commit_lsn: int
    commit_ms: int
    events: int = 0
    numbered: int = 0
    context: str | None = None

    def later(self, events: int, numbered: int, context: str | None) -> OpenTransaction:
        """After so many more events."""
        return replace(
            self,
            events=self.events + events,
            numbered=self.numbered + numbered,
            context=context,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """Columns over the transactions of a run; entry 0 is the one that was open before it.

    `end_lsn` is 0 where the transaction does not end in this run.
    """

    begin_message: Numbers
    xid: Numbers
    commit_lsn: Numbers
    commit_ms: Numbers
    end_lsn: Numbers
    events_before: Numbers
    numbered_before: Numbers

    @classmethod
    def of(cls, opened: OpenTransaction | None, begins: Begins, commits: Commits) -> Table:
        """The transactions of a run of messages."""
        first = opened or OpenTransaction(0, 0, 0)
        count = len(begins.message) + 1
        end_lsn = np.zeros(count, np.int64)
        skip = 0 if opened is not None else 1
        end_lsn[skip : skip + len(commits.end_lsn)] = commits.end_lsn
        events_before = np.zeros(count, np.int64)
        events_before[0] = first.events
        numbered_before = np.zeros(count, np.int64)
        numbered_before[0] = first.numbered
        return cls(
            begin_message=begins.message,
            xid=np.concatenate(([first.xid], begins.xid)),
            commit_lsn=np.concatenate(([first.commit_lsn], begins.final_lsn)),
            commit_ms=np.concatenate(([first.commit_ms], begins.commit_ms)),
            end_lsn=end_lsn,
            events_before=events_before,
            numbered_before=numbered_before,
        )

    def __len__(self) -> int:
        return len(self.xid)

    def of_messages(self, message: Numbers) -> Numbers:
        """The transaction that each message stands in."""
        return np.searchsorted(self.begin_message, message, side="left").astype(np.int64)

    def indexes(self, transaction: Numbers) -> Numbers:
        """Each event's number within its transaction; `transaction` ascends."""
        counts = np.bincount(transaction, minlength=len(self))
        first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        return np.arange(len(transaction)) - first[transaction] + self.events_before[transaction]

    def numbers(self, transaction: Numbers, numbered: npt.NDArray[np.bool_]) -> Numbers:
        """How many numbered events of its transaction go before each event."""
        before = np.cumsum(numbered, dtype=np.int64) - numbered
        counts = np.bincount(transaction, minlength=len(self))
        first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        at_begin = np.append(before, 0)[np.minimum(first, len(before))]
        numbers = before - at_begin[transaction] + self.numbered_before[transaction]
        return np.asarray(numbers, np.int64)

    def totals(self, transaction: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """Each event's transaction size, and whether it is known: begun and ended in this run."""
        counts = np.bincount(transaction, minlength=len(self))
        known = (self.end_lsn > 0) & (self.events_before == 0)
        return counts[transaction], known[transaction]

    def still_open(self, opened: OpenTransaction | None) -> OpenTransaction | None:
        """The transaction that goes on after the run, without the run's events counted."""
        if len(self) == 1:
            return opened if self.end_lsn[0] == 0 else None
        if self.end_lsn[-1] > 0:
            return None
        return OpenTransaction(int(self.xid[-1]), int(self.commit_lsn[-1]), int(self.commit_ms[-1]))
