"""The events of chosen tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from headwater.event.batch import EventBatch
from headwater.event.table import TableId


def of_tables(batch: EventBatch, wants: Callable[[TableId], bool]) -> EventBatch:
    """The events of the tables that are wanted, each judged once and never per event.

    Schema and name stay apart: either may have dots, so no text of both would tell tables apart.
    """
    if len(batch) == 0:
        return batch
    schemas = batch.column("table_schema").dictionary_encode("encode")
    names = batch.column("table_name").dictionary_encode()
    wanted = np.array(
        [
            [wants(TableId(schema, name)) for name in names.dictionary.to_pylist()]
            for schema in schemas.dictionary.to_pylist()
        ]
    )
    mask = wanted[schemas.indices.to_numpy(), names.indices.to_numpy()]
    return batch if mask.all() else batch.filter(pa.array(mask))
