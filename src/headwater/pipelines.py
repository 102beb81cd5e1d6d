"""Functions on frames of events, for pipelines of your own: each takes a DataFrame and gives one.

    events = spark.readStream.format("headwater").load("shop.hwlog")
    orders = pipelines.typed(pipelines.dedup(events), "orders", log="shop.hwlog")

Events are rows as `format("headwater")` reads them and `decode` gives them. What works on a stream
works on a batch; `in_order`, `latest_per_key` and `route` need a batch, as in `foreachBatch`.
"""

from __future__ import annotations

from headwater.app.spark.formats import decode, encode
from headwater.app.spark.functions import (
    auto_cdc_source,
    changed_fields,
    entities,
    latest_per_key,
    typed,
)
from headwater.spark.functions.dedup import dedup
from headwater.spark.functions.order import in_order
from headwater.spark.functions.tables import of_table, route
from headwater.spark.functions.transform import transform

__all__ = [
    "auto_cdc_source",
    "changed_fields",
    "decode",
    "dedup",
    "encode",
    "entities",
    "in_order",
    "latest_per_key",
    "of_table",
    "route",
    "transform",
    "typed",
]
