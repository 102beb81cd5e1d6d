"""A log that holds a seeded history, and what its tables should be at the end of it."""

from __future__ import annotations

from pathlib import Path

from headwater.event import TableId, TableSchema
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY
from headwater.testing.history.changes import SeededChanges
from headwater.testing.history.oracle import Oracle


class History:
    """Grows transaction by transaction; `finish` writes all that is left.

    - `path`: the log's file. `head`: the last sequence number that is written.
    - `ends`: the last sequence number of each transaction that is written.
    - `tables`: the newest shape of each table that was written.
    """

    def __init__(
        self, path: Path, seed: int = 1, transactions: int = 30, *, duplicates: bool = False
    ) -> None:
        self.path = path
        self.seed = seed
        self.duplicates = duplicates
        self.log = SqliteLog.create(path)
        self.ends: list[int] = []
        self.tables: dict[TableId, TableSchema] = {}
        self._left = list(SeededChanges(seed, transactions, duplicates=duplicates))
        self._writer = self.log.writer(IDENTITY)

    @property
    def head(self) -> int:
        """The last sequence number."""
        return self._writer.head

    @property
    def left(self) -> int:
        """How many transactions are not yet written."""
        return len(self._left)

    def grow(self, transactions: int) -> None:
        """Write some more transactions."""
        for _ in range(min(transactions, self.left)):
            batch = self._left.pop(0)
            self._writer.append(batch)
            self.ends.append(self.head)
            self.tables |= {schema.table: schema for schema in batch.schemas}

    def finish(self) -> None:
        """Write what is left."""
        self.grow(self.left)

    def oracle(self, table: TableId) -> Oracle:
        """What tables of each mode hold of what is written; every event counts once."""
        names = tuple(column.name for column in self.tables[table].columns)
        schemas = [schema for _, schema in self.log.reader().schemas()]
        shapes = {each.schema_id: [column.name for column in each.columns] for each in schemas}
        oracle, heard = Oracle(names, shapes), set()
        for batch in self.log.reader().read(0, self.head):
            for event in batch:
                ours = TableId(event.schema, event.table) == table
                if ours and event.event_id not in heard:
                    heard.add(event.event_id)
                    oracle.hear(event)
        return oracle

    def close(self) -> None:
        """Give the log free."""
        self._writer.close()
