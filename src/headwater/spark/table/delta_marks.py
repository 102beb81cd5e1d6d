"""Rows of a Delta table marked as deleted, by key: deletion vectors without a statement."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.spark.gateway.classes import singleton
from headwater.spark.gateway.scala import activate, items_of, none, sequence, some
from headwater.spark.sql import quoted

_COMMANDS = "org.apache.spark.sql.delta.commands"
_LITERAL = "org.apache.spark.sql.catalyst.expressions.Literal"
_FILE, _PLACE = "__headwater_file", "__headwater_place"


@dataclass(frozen=True, slots=True)
class Marks:
    """What to commit: files out and, with more of their rows marked, in again."""

    removals: Sequence[Any] = ()
    additions: Sequence[Any] = ()


def marks_of(session: SparkSession, begun: Any, files: Mapping[str, Any], keys: DataFrame) -> Marks:
    """Mark every row of the files that has one of the keys; the vectors are written, not committed.

    The files are of the transaction's version, with their statistics.
    """
    if not files:
        return Marks()
    activate(session)
    helper = singleton(session, f"{_COMMANDS}.DMLWithDeletionVectorsHelper")
    candidates = sequence(session, list(files.values()))
    finder = singleton(session, f"{_COMMANDS}.DeletionVectorBitmapGenerator")
    found = finder.buildRowIndexSetsForFilesMatchingCondition(
        session._jsparkSession,  # noqa: SLF001
        begun,
        True,  # noqa: FBT003 - py4j has no names: files may have marks already
        _hits(session, begun, candidates, keys)._jdf,  # noqa: SLF001
        candidates,
        singleton(session, _LITERAL).TrueLiteral(),
        some(session, f.col(_FILE)._jc),  # noqa: SLF001
        some(session, f.col(_PLACE)._jc),  # noqa: SLF001
    )
    by_path = helper.generateCandidateFileMap(begun.deltaLog().dataPath(), candidates)
    return _committable(items_of(helper.findFilesWithMatchingRows(begun, by_path, found)))


def _hits(session: SparkSession, begun: Any, candidates: Any, keys: DataFrame) -> DataFrame:
    """Where the rows with the keys are: in which file, at which place in it."""
    log = begun.deltaLog()
    stored = log.createDataFrame(begun.snapshot(), candidates, False, none(session))  # noqa: FBT003
    names = [quoted(name) for name in keys.columns]
    places = DataFrame(stored, session).select(
        *names,
        f.col("_metadata.file_path").alias(_FILE),
        f.col("_metadata.row_index").alias(_PLACE),
    )
    same = (f.col(f"t.{name}").eqNullSafe(f.col(f"s.{name}")) for name in names)
    return places.alias("t").join(keys.alias("s"), reduce(and_, same), "left_semi")


def _committable(touched: Sequence[Any]) -> Marks:
    removals, additions = [], []
    for each in touched:
        file = each.fileLogEntry()
        if each.isFullyReplaced():
            now = time.time_ns() // 1_000_000
            removals.append(file.removeWithTimestamp(now, True))  # noqa: FBT003
        else:
            # Bounds of the file's statistics stay true, they only need not be tight any more.
            both = file.removeRows(each.newDeletionVector(), True, True)  # noqa: FBT003
            additions.append(both.productElement(0))
            removals.append(both.productElement(1))
    return Marks(removals, additions)
