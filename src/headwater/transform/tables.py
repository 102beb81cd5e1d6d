"""KeepTables: choose tables by glob."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headwater.event import EventBatch, TableId


@dataclass(frozen=True, slots=True)
class KeepTables:
    """Keeps events of tables that match one of `keep` and none of `drop`.

    Globs mean what `TableId.matches` says. Names are judged once per distinct table, never per
    event. A logical message has the empty name: `*` keeps it, and no table's name does.
    """

    keep: tuple[str, ...] = ("*",)
    drop: tuple[str, ...] = ()

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The chosen events."""
        if len(batch) == 0:
            return batch
        schemas = batch.column("table_schema").dictionary_encode("encode")
        names = batch.column("table_name").dictionary_encode()
        wanted = np.array(
            [
                [self.wants(TableId(schema, name)) for name in names.dictionary.to_pylist()]
                for schema in schemas.dictionary.to_pylist()
            ]
        )
        mask = wanted[schemas.indices.to_numpy(), names.indices.to_numpy()]
        if mask.all():
            return batch
        return batch.filter(pa.array(mask))

    def wants(self, table: TableId) -> bool:
        """Whether events of this table are kept."""
        return table.matches(self.keep) and not table.matches(self.drop)
