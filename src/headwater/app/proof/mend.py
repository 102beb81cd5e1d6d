"""`headwater verify --repair`: the keys that differ are read again, through the pipeline.

The rows go the way of every row: from the source into the log, in order with the changes around
them, and from there into the tables. Of a key that the source does not have the log is told just
that, as a `delete` that was found and not committed. So nothing is written behind the back of a
stream that is writing, every mode takes it in its own way, and a crash loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.app.backfill import answer_to, check, following
from headwater.app.config import Config
from headwater.app.inspect import writer_of
from headwater.app.pipeline import Pipeline
from headwater.app.proof.verifier import Proof, TableProof
from headwater.contract import Clock, Verb, Wish
from headwater.errors import ConfigError, TransientError
from headwater.event import Operation
from headwater.log import SqliteLog

if TYPE_CHECKING:
    from headwater.spark.proof.applied import Session

# They stand in the source's position until they are read, and that is written with every batch.
KEYS_AT_ONCE = 500
_RUNS = 3
_LOOK_S = 0.5

# The last sequence number that a table, by its name, has applied.
AppliedTo = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Mender:
    """Asks for rows again, and waits until the tables have them."""

    file: Path
    config: Config
    log: SqliteLog
    clock: Clock
    timeout_s: float

    def mend(self, proof: Proof, session: Session, applied: AppliedTo) -> list[dict[str, Any]]:
        """What was read again, by table. Raises before anything is asked if a table cannot be."""
        wrong = [table for table in proof.tables if not table.equal]
        wishes = [wish for table in wrong for wish in _wishes(table)]
        for wish in wishes:
            check(self.config, wish)
        before = self.log.info().bounds.head
        if writer_of(self.config.log.path) is None:
            self._run(wishes, session)
        else:
            self._ask(wishes)
        told = self._told(before, [table.table for table in wrong])
        self._await(told, applied)
        return [_report(table, told[table.table]) for table in wrong]

    def _ask(self, wishes: Sequence[Wish]) -> None:
        """The capture that runs takes them one by one."""
        for wish in wishes:
            with closing(self.log.commands()) as commands:
                number = commands.ask(wish)
            give_up = self.clock.monotonic_s() + self.timeout_s
            while not answer_to(self.log, number):
                if self.clock.monotonic_s() > give_up:
                    raise _waiting("capture has not taken the request")
                self.clock.sleep(_LOOK_S)
            for _ in following(self.file, number):
                pass

    def _run(self, wishes: Sequence[Wish], session: Session) -> None:
        """Nobody captures: one run of the pipeline does it, as `headwater run --once` would."""
        with closing(self.log.commands()) as commands:
            numbers = [commands.ask(wish) for wish in wishes]

        @contextmanager
        def borrowed() -> Iterator[Session]:
            yield session

        for _ in range(_RUNS):
            Pipeline(self.config, session=borrowed).run(once=True)
            if all(answer_to(self.log, number) for number in numbers):
                return
        raise _waiting("capture has not taken the request")

    def _told(self, before: int, tables: Sequence[str]) -> Mapping[str, _Told]:
        """What the log says of the tables since the rows were asked for."""
        told = {table: _Told() for table in tables}
        with closing(self.log.reader()) as reader:
            for batch in reader.read(before):
                for event in batch:
                    table = told.get(str(event.table_id))
                    if table is not None:
                        table.last = event.sequence_number
                        table.read += event.op is Operation.READ
                        table.absent += event.op is Operation.DELETE and event.snapshot is not None
        return told

    def _await(self, told: Mapping[str, _Told], applied: AppliedTo) -> None:
        give_up = self.clock.monotonic_s() + self.timeout_s
        for table, facts in told.items():
            while applied(table) < facts.last:
                if self.clock.monotonic_s() > give_up:
                    raise _waiting(f"table {table} has not come to event {facts.last:,}")
                self.clock.sleep(_LOOK_S)


@dataclass(slots=True)
class _Told:
    """Rows that were read, keys that were found without one, and the last event."""

    read: int = 0
    absent: int = 0
    last: int = 0


def _wishes(table: TableProof) -> Iterator[Wish]:
    found = table.differences
    keys = sorted({*found.missing, *found.extra, *found.different})
    if not all(key.startswith("{") for key in keys):
        raise ConfigError(
            "verify-repair-no-key", f"{table.table} has no key", where=f"table {table.table}"
        )
    if not found.complete:
        raise ConfigError(
            "verify-repair-too-many",
            f"{table.table} differs in more than {len(keys):,} keys",
            where=f"table {table.table}",
        )
    for first in range(0, len(keys), KEYS_AT_ONCE):
        some = tuple(keys[first : first + KEYS_AT_ONCE])
        yield Wish(verb=Verb.START, table=table.table, keys=some)


def _report(table: TableProof, told: _Told) -> dict[str, Any]:
    found = table.differences
    return {
        "table": table.table,
        "missing": len(found.missing),
        "extra": len(found.extra),
        "different": len(found.different),
        "read": told.read,
        "absent": told.absent,
    }


def _waiting(reason: str) -> TransientError:
    return TransientError("verify-repair-waiting", reason)
