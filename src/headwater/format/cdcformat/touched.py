"""The fields that each event touched, as lists, for those who want nothing else of the format."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.event import EventBatch
from headwater.format.cdcformat.fields import changes
from headwater.format.cdcformat.images import read_images
from headwater.format.jsontext import loads

# The columns of a batch that decide it.
TOUCHED_BY = (
    *("op", "table", "before", "after", "before_is_key_only"),
    *("unavailable_columns", "before_unavailable_columns"),
)


def touched_fields(batch: EventBatch) -> pa.Array:
    """The names in column order, one list for each event; see fields.py for what is touched."""
    tables = batch.column("table_name").dictionary_encode().indices.to_numpy().astype(np.int64)
    encoded = changes(batch, read_images(batch, tables)).fields.dictionary_encode()
    lists = [loads(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(lists, pa.list_(pa.string())).take(encoded.indices)
