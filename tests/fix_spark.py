"""Fixture plugin: one quiet local Spark session with Delta for the whole run.

spark                the session
warm_jvm             the environment of commands that find a JVM, instead of starting one each
client_packages      what Spark Connect and pipelines need beside PySpark
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
def warm_jvm() -> Iterator[dict[str, str]]:
    """A JVM that stands while commands come and go, one at a time, as spark-submit has it.

    A command of its own JVM spends two thirds of its time on starting it. Its working directory is
    not the command's, so the command must make paths absolute.
    """
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    from headwater.spark import jars

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    classes = os.pathsep.join(str(jar) for jar in jars.ensure("delta"))
    conf = SparkConf(loadDefaults=False).set("spark.driver.extraClassPath", classes)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway: Any = launch_gateway(conf, popen_kwargs=quiet)  # type: ignore[no-untyped-call]
    told = gateway.gateway_parameters
    try:
        yield {"PYSPARK_GATEWAY_PORT": str(told.port), "PYSPARK_GATEWAY_SECRET": told.auth_token}
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)


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
