"""Where drivers of each format are killed, in the order in which one comes by, and how often."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from headwater.app.spark import TableFormat
from tests.chaos.scenario import Kill


@dataclass(frozen=True)
class Places:
    """The failpoints of a format.

    - `first`: of new tables. `load`: of tables that are loaded, in the order of their coming.
    - `middle`: of tables that stand, in any order. `last`: in this order, after those.
    """

    first: tuple[str, ...]
    load: tuple[str, ...]
    middle: tuple[str, ...]
    last: tuple[str, ...]

    def every(self) -> set[str]:
        return {*self.first, *self.load, *self.middle, *self.last}


_FIRST = (
    "spark.table.before_create",
    "spark.table.after_create",
    "spark.table.before_fill",
    "spark.table.after_fill",
)
_LOAD = (
    "spark.load.before_append",
    "spark.load.after_append",
    "spark.load.after_keep",
    "spark.load.closed",
    "spark.load.merged",
    "spark.load.before_switch",
    "spark.load.after_switch",
    "spark.load.cleared",
)
_MIDDLE = (
    "spark.table.before_merge",
    "spark.table.after_merge",
    "spark.state.before_commit",
    "spark.state.after_commit",
    "spark.batch.begin",
    "spark.batch.end",
)
_LAST = (
    "spark.table.before_alter",
    "spark.table.after_alter",
    "spark.keep.before_compact",
    "spark.keep.after_compact",
    "spark.keep.before_expire",
    "spark.source.before_commit",
)
PLACES: dict[TableFormat, Places] = {
    "delta": Places(_FIRST, _LOAD, (*_MIDDLE, "spark.table.rows_written"), _LAST),
    "iceberg": Places(
        _FIRST,
        _LOAD,
        (*_MIDDLE, "spark.iceberg.before_publish", "spark.iceberg.after_publish"),
        _LAST,
    ),
    "parquet": Places(
        (),
        (),
        (
            "spark.table.before_write",
            "spark.parquet.before_snapshot",
            "spark.parquet.before_mark",
            "spark.parquet.after_mark",
            "spark.batch.begin",
            "spark.batch.end",
        ),
        ("spark.source.before_commit",),
    ),
}

# How often each table of a batch makes its driver pass there, if it is kept in every mode.
_OF_A_TABLE = {
    "spark.table.before_create": 4,
    "spark.table.after_create": 4,
    "spark.table.before_fill": 2,
    "spark.table.after_fill": 2,
    "spark.table.before_merge": 4,
    "spark.table.after_merge": 4,
    "spark.iceberg.before_publish": 4,
    "spark.iceberg.after_publish": 4,
}
# Only one table is altered, in every mode, and as a rule all but one are replaced by key.
_OF_A_BATCH = {
    "spark.table.before_alter": 4,
    "spark.table.after_alter": 4,
    "spark.table.rows_written": 2,
    "spark.table.before_write": 3,
    # A driver meets two batches when the one before it has left its own undone.
    "spark.batch.begin": 2,
    "spark.batch.end": 2,
}


def kills(names: Iterable[str], chooser: random.Random, tables: int = 3) -> list[Kill]:
    """One at each place: at any passage, so that any part of the tables has the batch already."""
    most = {name: tables * number for name, number in _OF_A_TABLE.items()} | _OF_A_BATCH
    return [Kill(name, chooser.randint(1, most.get(name, 1))) for name in names]
