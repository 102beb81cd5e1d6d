"""The users' pytest plugin, in a run of its own: what converges passes, what does not is shown."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.spark

USERS_TESTS = '''
import shutil

import pytest

from headwater.app.spark import TableJob
from headwater.errors import ConfigError
from headwater.pipelines import dedup, latest_per_key


class Kept:
    """Batches as files, each written whole; what is read is the last change of each key."""

    def __init__(self, spark, history, folder, gone="_headwater_deleted"):
        self.spark, self.history, self.folder, self.gone = spark, history, folder, gone

    def apply(self, batch, batch_id):
        batch.write.mode("overwrite").parquet(f"{self.folder}/{batch_id}")

    def read(self, table):
        events = self.spark.read.parquet(f"{self.folder}/*")
        return latest_per_key(dedup(events), table, log=self.history.path).where(f"NOT {self.gone}")


def test_job(headwater_history, assert_converges, tmp_path):
    history = headwater_history(seed=7, transactions=8)
    modes = {"mirror": ["*"], "append_log": ["orders"]}
    job = TableJob(history.path, f"{tmp_path}/lake", tables=("orders",), modes=modes)
    assert_converges(job, history, batches=2)
    # Nothing is left to apply: what is there is compared again.
    with pytest.raises(ConfigError, match="no table matches 'order'"):
        assert_converges(job, history, tables=["order"], lost_checkpoint=False)
    with pytest.raises(AssertionError, match="the job keeps none of public.files"):
        assert_converges(job, history, tables=["files"], lost_checkpoint=False)
    shutil.rmtree(f"{tmp_path}/lake/public.orders@append_log")
    with pytest.raises(AssertionError, match="public.orders@append_log: there is no table"):
        assert_converges(job, history, lost_checkpoint=False)


def test_function(headwater_spark, headwater_history, assert_converges, tmp_path):
    history = headwater_history(seed=2, transactions=8)
    history.grow(2)
    kept = Kept(headwater_spark, history, tmp_path / "kept")
    said = {"read": kept.read, "tables": ["orders"], "batches": 2}
    assert_converges(kept.apply, history, **said, lost_checkpoint=True)


def test_forgetful(headwater_spark, headwater_history, assert_converges, tmp_path):
    history = headwater_history(seed=2, transactions=8)
    history.finish()
    kept = Kept(headwater_spark, history, tmp_path / "kept", gone="isnull(_headwater_sequence)")
    assert_converges(kept.apply, history, read=kept.read, tables=['customers'], batches=2)


def test_session(headwater_spark):
    assert headwater_spark.sparkContext.master == "local[1]"
'''


@pytest.mark.timeout(600)
def test_plugin_is_found_and_tells_what_converges_from_what_does_not(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(USERS_TESTS)
    done = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: history of seed 2:*",
            "*public.*: * of * keys differ",
            "*held  {*",
            "*wanted  no row",
        ]
    )


def test_plugin_loads_nothing_heavy_before_a_test_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            assert "headwater.testing.pytest_plugin" in sys.modules
            assert not {"pyspark", "pyarrow"} & set(sys.modules)
        """
    )
    done = pytester.runpytest_subprocess("-q")
    done.assert_outcomes(passed=1)
