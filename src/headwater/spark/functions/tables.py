"""Events by table: those of one, and each to where it belongs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from headwater.event import TableId
from headwater.spark.functions.order import require_batch

_PART = re.compile(r"\*|\?|\[(!?)(.[^\]]*)\]|.", re.DOTALL)


def of_table(frame: DataFrame, *globs: str) -> DataFrame:
    """The events of the tables that one of the globs means, such as `public.orders` or `log_*`.

    A glob with a dot is compared with `schema.table`, one without with the name in any schema.
    """
    return frame.where(reduce(or_, map(meant, globs), f.lit(False)))  # noqa: FBT003


def route(frame: DataFrame, to: Mapping[str, Callable[[DataFrame], object]]) -> None:
    """Give each function the events of its tables; the frame is read once for all of them.

    `to` has a function for each glob. One that no event of this batch is for is not called; one
    event goes to every function whose glob means its table. For use inside `foreachBatch`.
    """
    kept = require_batch(frame, "route").persist()
    try:
        there = [
            TableId(row[0], row[1]) for row in kept.select("schema", "table").distinct().collect()
        ]
        for glob, function in to.items():
            if any(table.matches((glob,)) for table in there):
                function(of_table(kept, glob))
    finally:
        kept.unpersist()


def meant(glob: str) -> Column:
    """Whether the glob means an event's table; as TableId.matches says."""
    schema, name = f.col("schema"), f.col("table")
    full = f.when(schema.isNull() | (schema == ""), name).otherwise(
        f.concat(schema, f.lit("."), name)
    )
    text = f.lower(full if "." in glob else name)
    wanted = glob.lower()
    if not set(wanted) & set("*?["):
        return text == wanted
    return text.rlike(f"(?s)^{_PART.sub(_pattern, wanted)}\\z")


def _pattern(part: re.Match[str]) -> str:
    """A part of a glob as a regular expression of Java."""
    if part[0] == "*":
        return ".*"
    if part[0] == "?":
        return "."
    if part[2] is None:
        return re.escape(part[0])
    chosen = re.sub(r"([^a-zA-Z0-9-])", r"\\\1", part[2])
    return f"[^{chosen}]" if part[1] else f"[{chosen}]"
