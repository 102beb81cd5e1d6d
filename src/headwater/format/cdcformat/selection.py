"""Which entities and operations are told: names of the format, exact, and exclusion wins."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, TableId
from headwater.format.cdcformat.entities import EntityMap

OPERATIONS = {
    "CREATE": (Operation.INSERT, Operation.READ),
    "UPDATE": (Operation.UPDATE,),
    "DELETE": (Operation.DELETE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepEntities:
    """Keeps the events of these types; of all, if none is named. Implements contract.Transform."""

    entities: EntityMap = field(default_factory=EntityMap)
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The chosen events."""
        if not (self.keep or self.drop) or len(batch) == 0:
            return batch
        schemas = batch.column("table_schema").dictionary_encode("encode")
        names = batch.column("table_name").dictionary_encode()
        wanted = np.array(
            [
                [self.wants(TableId(schema, name)) for name in names.dictionary.to_pylist()]
                for schema in schemas.dictionary.to_pylist()
            ]
        )
        return batch.filter(pa.array(wanted[schemas.indices.to_numpy(), names.indices.to_numpy()]))

    def wants(self, table: TableId) -> bool:
        """Whether events of this table are kept."""
        name = self.entities.entity(table).type
        return (not self.keep or name in self.keep) and name not in self.drop


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOperations:
    """Keeps the events of these operations; of all, if none is named. Implements Transform.

    What the format has no word for is kept: it is refused when it is written, never dropped.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The chosen events."""
        unwanted = [
            int(op)
            for word, ops in OPERATIONS.items()
            if (self.keep and word not in self.keep) or word in self.drop
            for op in ops
        ]
        if not unwanted:
            return batch
        return batch.filter(pc.invert(pc.is_in(batch.column("op"), pa.array(unwanted, pa.int8()))))
