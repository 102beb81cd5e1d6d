"""Tables as of a position, and Spark's checkpoint."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "as-of-none",
        "No set of tables has been published below the target.",
        "Run the stream once: headwater run FILE --once",
    ),
    (
        "as-of-before",
        "The position is before the first set of tables that was published.",
        "Ask for the position that the message names, or a later one.",
    ),
    (
        "as-of-after",
        "The position is after the last set of tables that was published.",
        "Ask for the position that the message names, or let the stream catch up.",
    ),
    (
        "as-of-table",
        "The set of tables does not have this table in this mode.",
        "Look at the tables of the set: headwater spark as-of FILE SEQ",
    ),
    (
        "as-of-gone",
        "A version of the set was removed by VACUUM or by the retention of Delta's log.",
        "Ask for a later position; spark.maintenance.retain says how long versions are kept.",
    ),
    (
        "spark-no-versions",
        "Parquet tables have neither versions nor positions of their own.",
        "Set spark.table_format: delta or iceberg",
    ),
    (
        "spark-stream-running",
        "A stream that uses the checkpoint runs, and would go on with the old one.",
        "Stop the pipeline first.",
    ),
    (
        "spark-nothing-applied",
        "No table has applied anything, so there is no position to rebuild from.",
        "Remove the checkpoint folder and run the stream: it begins at the start of the log.",
    ),
    (
        "spark-checkpoint-gap",
        "The log no longer holds events that a table still needs.",
        "Read the table once more: headwater backfill start FILE TABLE",
    ),
    (
        "spark-table-set-back",
        "A table lacks what it had applied before: it was removed, or replaced by a copy.",
        "Start the pipeline again: the table takes from the log what it lacks.",
    ),
    (
        "spark-table-gap",
        "A table is kept anew or was set back, and the log no longer holds all that it lacks.",
        "headwater spark release FILE TABLE, then headwater verify FILE --repair",
    ),
    (
        "spark-release-after",
        "A table cannot go on after an event that the log does not hold.",
        "Choose one of the events that the message names.",
    ),
    (
        "spark-not-parked",
        "The table is not parked.",
        "headwater status FILE shows the tables that are.",
    ),
)
