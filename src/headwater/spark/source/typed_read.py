"""What is asked of the source where tables are made: typed columns instead of whole events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import StructType

from headwater.event import Kind, LogicalType, TableId

# What an event itself says of a row, beside its image.
SEQUENCE, COMMITTED, GONE = "__sequence", "__committed", "__gone"
# By the name of a column: which of them it holds, or a constant.
Told = Mapping[str, str | bool | None]
# The kinds of columns that can be read so: each value in its canonical form.
PLAIN = frozenset(
    {
        *(Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.FLOAT64, Kind.DECIMAL),
        *(Kind.STRING, Kind.UUID, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
        *(Kind.INTERVAL, Kind.JSON, Kind.DYNAMIC),
    }
)
# In the message of what a task raises where a value is not.
REFUSAL = "headwater: a row is not plain"
# What a read answers that writes files: one row for each.
FILE_DDL = "path string, size bigint, rows bigint, stats string, least string, greatest string"


@dataclass(frozen=True, slots=True)
class TypedRead:
    """Rows of one table in typed columns, read by the tasks of a batch read.

    - `columns`: what is read, in Spark's types.
    - `told`: those of them that are not in a row's image: by name SEQUENCE, COMMITTED or GONE, or a
      constant.
    - `kept`: those that are kept as their own text, with their types.
    - `latest_by`: all changes, the last one per key in each task; empty: the rows of a snapshot.
    - `folder`: write them there, in files, and answer with FILE_DDL.
    - `distinct`: the column whose bounds a file is told with, if no value is in it twice.
    """

    table: TableId
    columns: StructType
    told: Told = field(default_factory=dict)
    kept: Mapping[str, LogicalType] = field(default_factory=dict)
    latest_by: tuple[str, ...] = ()
    folder: str | None = None
    distinct: str | None = None

    def text(self) -> str:
        """As the value of an option."""
        return json.dumps(
            {
                "table": [self.table.schema, self.table.name],
                "columns": self.columns.jsonValue(),
                "told": dict(self.told),
                "kept": {name: str(each) for name, each in self.kept.items()},
                "latest_by": self.latest_by,
                "folder": self.folder,
                "distinct": self.distinct,
            }
        )

    @classmethod
    def parse(cls, text: str) -> TypedRead:
        """From the value of an option."""
        given: dict[str, Any] = json.loads(text)
        return cls(
            TableId(*given.pop("table")),
            StructType.fromJson(given.pop("columns")),
            kept={name: LogicalType.parse(each) for name, each in given.pop("kept").items()},
            latest_by=tuple(given.pop("latest_by")),
            **given,
        )
