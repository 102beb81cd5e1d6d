"""Sets of Iceberg snapshots that belong together, and a checkpoint that is made anew from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob, as_of
from headwater.app.spark.checkpoint import rebuild, survey
from headwater.errors import GapError
from headwater.event import TableId
from headwater.spark.table.iceberg import IcebergTargets
from tests.spark.test_state import Bank, Rows

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


def _held(spark: SparkSession, job: TableJob, sequence: int) -> tuple[Rows, Rows]:
    found = as_of(spark, job.target, sequence, consumer=job.consumer)
    assert found.sequence == sequence
    giro, savings = (
        sorted((row["id"], row["money"]) for row in found.frame(table).collect())
        for table in ("giro", "savings")
    )
    return giro, savings


@pytest.mark.parametrize("in_catalog", [False, True])
def test_every_published_set_equals_the_source_and_a_lost_checkpoint_is_made_anew(
    spark: SparkSession, tmp_path: Path, *, in_catalog: bool
) -> None:
    bank = Bank.open(tmp_path, seed=8)
    target = "catalog:ice.bank" if in_catalog else str(tmp_path / "lake")
    job = TableJob(bank.shop.log.path, target, "iceberg", consumer="ice")
    heads = [job.run_once(spark)]
    for _ in range(1 if in_catalog else 2):
        bank.transfer()
        heads.append(bank.transfer())
        assert job.run_once(spark) == heads[-1]
    for head in heads:
        assert _held(spark, job, head) == bank.was[head]
    newest = as_of(spark, target, consumer="ice")
    assert newest.create_views("then_") == ("then_giro", "then_quiet", "then_savings")
    if in_catalog:  # the name is one that the session knows
        rows = spark.sql(newest.tables[0].sql).select("id", "money").collect()
        assert sorted(map(tuple, rows)) == bank.was[heads[-1]][0]
        return

    shutil.rmtree(job.checkpoint)
    seen = survey(spark, job)
    assert (seen.safe, seen.state, seen.faults()) == (heads[-1], heads[-1], [])
    assert rebuild(spark, job, really=True)["begins_after"] == heads[-1]
    heads.append(bank.transfer())
    assert job.run_once(spark) == heads[-1]
    assert _held(spark, job, heads[-1]) == bank.was[heads[-1]]

    targets = IcebergTargets(job.location, bank.shop.log.reader().log_id)
    giro = targets.upkeep(spark, TableId(None, "giro"), "mirror")
    was = giro.files()
    giro.compact(128 * 1024**2)
    assert giro.files() != was
    giro.expire(0)
    # The newest set has lost no row: its snapshot is gone, and a later one has the same.
    assert _held(spark, job, heads[-1]) == bank.was[heads[-1]]
    with pytest.raises(GapError, match=r"as-of-gone.*the snapshot has expired"):
        _held(spark, job, heads[0])
