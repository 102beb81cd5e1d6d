"""The rows of captured tables at one moment, and which transactions that moment has seen.

For comparing a copy with its source. Rows are read as the snapshot reads them, so equal values are
equal characters. A position alone does not tell what a moment has seen: a commit stands in the
server's log shortly before others can see it. So the moment also names the transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg
import pyarrow as pa

from headwater.event import TableId
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.lsn import format_lsn, parse_lsn
from headwater.source.postgres.server.catalog import TableFacts, read_tables
from headwater.source.postgres.server.connect import connect, place, translated
from headwater.source.postgres.server.slot import read_slot
from headwater.source.postgres.server.typecatalog import Types
from headwater.source.postgres.shapes import Shapes
from headwater.source.postgres.tables.chunk import Unit, plan, read_images, stored_tables
from headwater.source.postgres.tables.watermark import Visibility

# One statement: what it sees is fixed before the position is asked for.
_MOMENT = """
SELECT pg_current_snapshot()::text,
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
            ELSE pg_current_wal_insert_lsn() END::text
"""
_PEEK = """
SELECT data FROM pg_logical_slot_peek_binary_changes(
    %s, %s, NULL, 'proto_version', '1', 'publication_names', %s)
"""
_ROW_TAGS = frozenset(b"IUDT")


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything that `visibility` sees was committed before `lsn`."""

    lsn: int
    visibility: Visibility

    @classmethod
    def parse(cls, snapshot: str, lsn: str) -> Moment:
        """From the server's texts of a snapshot and a position."""
        return cls(parse_lsn(lsn), Visibility.parse(snapshot))

    def sees(self, xid: int) -> bool:
        """Whether a transaction that has ended is seen, by the low 32 bits of its id."""
        return not self.visibility.unseen(np.array([xid], np.int64))[0]


class MomentRows:
    """Captured tables within one read transaction. Made by `open_rows`."""

    def __init__(
        self, connection: psycopg.Connection, config: PostgresSourceConfig, moment: Moment
    ) -> None:
        self.moment = moment
        self._connection = connection
        self._config = config
        self._shapes = Shapes(config, Types(connection), lambda _oid: None)
        self._tables = {each.table: each for each in read_tables(connection, config)}

    def images(self, table: TableId) -> Iterator[pa.Array]:
        """The table's rows as JSON texts, chunk by chunk; nothing if it is not captured."""
        facts = self._tables.get(table)
        if facts is None:
            return
        with translated(str(table)):
            for unit in self._units(facts):
                for chunk in plan(unit, 0, self._config.chunk_rows):
                    yield read_images(self._connection, chunk)

    def estimate(self, table: TableId) -> int | None:
        """About how many rows the table has; None if the server has not counted them."""
        facts = self._tables.get(table)
        stored = () if facts is None else stored_tables(self._connection, facts.leaves)
        counts = [each.rows_total for each in stored]
        return None if not counts or None in counts else sum(filter(None, counts))

    def _units(self, facts: TableFacts) -> Iterator[Unit]:
        for stored in stored_tables(self._connection, facts.leaves):
            yield Unit.of(stored, facts, self._shapes)


@contextmanager
def open_rows(config: PostgresSourceConfig) -> Iterator[MomentRows]:
    """Hold one read transaction, in which every table is as it was at the same moment."""
    with connect(config, "verify") as connection, translated(place(config)):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = connection.execute(_MOMENT).fetchone()
        if row is None:
            raise AssertionError("a query without FROM gives one row")
        yield MomentRows(connection, config, Moment.parse(*row))


def nothing_waits(config: PostgresSourceConfig, since: int, until: int) -> bool:
    """Whether the slot, while nobody reads it, has no change between two positions."""
    with connect(config, "verify") as connection, translated(place(config)):
        slot = read_slot(connection, config.slot)
        if slot is None or slot.active_pid is not None or slot.is_lost:
            return False
        values = (config.slot, format_lsn(until), config.publication)
        committed = 0
        for (data,) in connection.execute(_PEEK, values):
            if data[0] == ord("B"):
                committed = int.from_bytes(data[1:9], "big")
            elif data[0] in _ROW_TAGS and committed >= since:
                return False
    return True
