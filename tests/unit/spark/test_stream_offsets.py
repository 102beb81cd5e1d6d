"""Offsets of a stream on a Spark that says neither where to begin nor how much to take (4.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.app.spark.source import SqliteLogOpener
from headwater.errors import GapError
from headwater.log import SqliteLog
from headwater.spark.source.options import Options
from headwater.spark.source.stream import LogStreamReader
from headwater.testing.builders import IDENTITY, inserts, source_batch


def test_query_goes_on_where_it_was_when_spark_tells_no_start(tmp_path: Path) -> None:
    """A query that begins at the newest event and is repeated in its first batch begins there."""
    log = SqliteLog.create(tmp_path / "items.hwlog")
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 3), 1))
    first = _reader(log)
    begin = first.initialOffset()
    assert begin["sequence"] == 3
    writer.append(source_batch(inserts(4, 2), 2))
    end = first.latestOffset()
    writer.append(source_batch(inserts(6, 1), 3))
    again = _reader(log)
    assert _ranges(again, again.initialOffset(), end) == _ranges(first, begin, end) == (3, 5)
    newer = again.latestOffset()
    assert _ranges(again, end, newer) == (5, 6)
    # After a restart Spark asks for no beginning: it has one.
    later = _reader(log)
    writer.append(source_batch(inserts(7, 1), 4))
    assert _ranges(later, newer, later.latestOffset()) == (6, 7)
    other = SqliteLog.create(tmp_path / "other.hwlog")
    with pytest.raises(GapError, match="another log"):
        later.partitions(newer, _reader(other).latestOffset())


def _reader(log: SqliteLog) -> LogStreamReader:
    options = Options.parse({"path": str(log.path), "startingSequence": "latest"})
    return LogStreamReader(SqliteLogOpener(), options)


def _ranges(reader: LogStreamReader, start: dict[str, Any], end: dict[str, Any]) -> tuple[int, int]:
    parts: list[Any] = list(reader.partitions(start, end))
    spans = sorted(span for part in parts for span in part.spans)
    return spans[0][0], spans[-1][1]
