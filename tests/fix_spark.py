"""Fixture plugin: one quiet local Spark session with Delta for the whole run.

spark                the session
client_packages      what Spark Connect and pipelines need beside PySpark
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.markdown import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What any Spark reads as it starts, also in the commands and drivers that tests run.
CONF_DIR = "SPARK_CONF_DIR"
os.environ.setdefault(CONF_DIR, str(ROOT / "tests" / "spark_conf"))
# Beside it, for sessions whose tables all have a handful of files.
SMALL = {"spark.databricks.delta.snapshotPartitions": "1"}


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from headwater.app.spark import register
    from headwater.spark.session import end_session, local_session

    session = local_session(kafka=True, avro=True, extra=SMALL)
    register(session)
    try:
        yield session
    finally:
        end_session(session)


@pytest.fixture(scope="session")
def client_packages() -> Path:
    """What Spark Connect needs beside PySpark, apart from the project's own packages."""
    lock = ROOT / "tools" / "connect.lock"
    folder = ROOT / ".cache" / f"connect-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        draft = folder.with_name(f"{folder.name}.{os.getpid()}")
        uv = str(ROOT / ".venv" / "bin" / "uv")
        command = [uv, "pip", "install", "-q", "--python", sys.executable, "--no-deps"]
        command += ["--require-hashes", "--target", str(draft), "-r", str(lock)]
        subprocess.run(command, check=True)
        draft.rename(folder)
    return folder
