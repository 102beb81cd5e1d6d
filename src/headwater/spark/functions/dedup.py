"""Events that came twice, once: by event_id, which is the same on every replay (INV-8)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_SEEN_AT = "__seen_at"


def dedup(frame: DataFrame, within: str = "1 hour") -> DataFrame:
    """The first of the events with the same `event_id`.

    On a stream it is remembered for `within`, counted from the micro-batch that it came in by the
    clock of the cluster, not by times in the events: a time that an event carries may be old, and
    Spark drops what it takes for late. So an event is never lost here, and one that comes again
    after `within` is there twice. A batch has no bound: the frame is looked at as a whole.
    """
    if not frame.isStreaming:
        return frame.dropDuplicates(["event_id"])
    seen = frame.withColumn(_SEEN_AT, f.current_timestamp()).withWatermark(_SEEN_AT, within)
    return seen.dropDuplicatesWithinWatermark(["event_id"]).drop(_SEEN_AT)
