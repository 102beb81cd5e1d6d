"""The tasks of a typed read: rows for Spark, or files of them and what Spark must know of those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from headwater.event.verbatim import Verbatim
from headwater.spark.source.batch import LogBatchReader
from headwater.spark.source.data_file import write_file
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import LogOpener
from headwater.spark.source.typed import (
    arrow_schema,
    changes_of,
    departures,
    in_parts,
    latest,
    reads_of,
    typed_rows,
)
from headwater.spark.source.typed_read import SEQUENCE, TypedRead

_MOST_BYTES = 256 * 1024**2
_FILE = pa.schema(
    [
        *(("path", pa.string()), ("size", pa.int64()), ("rows", pa.int64())),
        *(("stats", pa.string()), ("least", pa.string()), ("greatest", pa.string())),
    ]
)


class TypedReader(LogBatchReader):
    """Reads what a TypedRead asks for."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        super().__init__(opener, options)
        self._asked = TypedRead.parse(options.typed_read)
        self._columns = arrow_schema(self._asked.columns)
        told = self._asked.told.items()
        self._number = next((name for name, what in told if what == SEQUENCE), "")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows, or its files."""
        if self._asked.folder is not None:
            return self._files(partition, Path(self._asked.folder))
        if self._asked.latest_by:
            return self._latest(partition)
        return self._typed(partition)

    def _typed(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        choose = changes_of if self._asked.latest_by else reads_of
        kept = Verbatim(self._asked.kept)
        for batch in self._batches(partition):
            events = choose(batch, self._asked.table)
            if not len(events):
                continue
            rows = typed_rows(events, self._columns, self._asked.told, kept)
            yield rows
            if self._asked.latest_by:
                key = [*self._asked.latest_by]
                left = departures(events, rows, self._asked.told, key, kept)
                if left is not None:
                    yield left

    def _latest(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for rows in in_parts(self._typed(partition), _MOST_BYTES):
            last = latest(rows, self._asked.latest_by, self._number)
            yield from last.combine_chunks().to_batches()

    def _files(self, partition: InputPartition, folder: Path) -> Iterator[pa.RecordBatch]:
        for rows in in_parts(self._typed(partition), _MOST_BYTES):
            written = write_file(rows, folder, self._asked.distinct)
            yield pa.RecordBatch.from_pylist([asdict(written)], schema=_FILE)
