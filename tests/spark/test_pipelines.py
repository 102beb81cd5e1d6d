"""`spark-pipelines run` on the example: Spark's own Auto CDC keeps a table from a log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tools.fetch_catalog import jar

pytestmark = pytest.mark.spark


def test_auto_cdc_table_is_the_database_when_rows_moved_went_and_came_back(
    client_packages: Path, tmp_path: Path
) -> None:
    """The example compares them, and says so: the catalog forgets its tables with the process."""
    path = os.pathsep.join(filter(None, [str(client_packages), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "auto_cdc" / "run.py", "--jar", jar()],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("4 rows, equal to the database\n")
