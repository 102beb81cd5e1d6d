"""A MERGE reads only the files that can hold its keys: the others may even be gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from headwater.event import EventBatch
from headwater.spark.table.path import table_path
from headwater.spark.table.pruning import RowsReach
from headwater.testing.builders import ITEMS, inserts, source_batch
from tests.spark.lake import Lake

pytestmark = pytest.mark.spark

FILES = 10


class Stock(Lake):
    """A table of a thousand rows in the order of their keys, of which the middle is lost."""

    def __init__(self, spark: SparkSession, directory: Path, *, marked: bool) -> None:
        super().__init__(spark, directory)
        self.take(inserts(1, 1000))
        path = table_path(self.target, ITEMS.table)
        rows = self.table().repartitionByRange(FILES, "id")
        rows.write.format("delta").mode("overwrite").save(path)
        if not marked:  # rows that cannot be marked are merged
            off = "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
            spark.sql(f"ALTER TABLE delta.`{path}` {off}")
        middle = self.table().where("id BETWEEN 300 AND 700").select("_metadata.file_path")
        self.lost = [Path(row[0].removeprefix("file:")) for row in middle.distinct().collect()]
        for file in self.lost:
            file.unlink()

    def take(self, *parts: EventBatch) -> None:
        """The parts as one micro-batch."""
        before = self.head
        for part in parts:
            self._writer.append(source_batch(part, self.head + len(part)))
        self.apply(before)

    def table(self) -> DataFrame:
        return self.spark.read.format("delta").load(table_path(self.target, ITEMS.table))


@pytest.mark.parametrize("marked", [True, False])
def test_files_that_cannot_hold_its_keys_are_left_alone_by_a_batch(
    marked: bool, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old key and new ones, and between them half of the table, which is not read."""
    stock = Stock(spark, tmp_path, marked=marked)
    assert len(stock.lost) in (4, 5, 6)
    stock.take(inserts(3, 1), inserts(1000, 4))
    held = stock.table().where("id < 5 OR id > 995").select("id", "_headwater_sequence").collect()
    assert dict(map(tuple, held)) == {
        **{number: number for number in (1, 2, 4, *range(996, 1000))},
        3: 1001,
        **{number: number + 2 for number in range(1000, 1004)},
    }

    # The teeth: who knows no ranges looks for what is lost.
    monkeypatch.setattr(RowsReach, "ranges", lambda _: [])
    with pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST"):
        stock.take(inserts(3, 1))
