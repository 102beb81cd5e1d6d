"""Spark Connect: reading works as anywhere; what needs the driver's JVM says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.docs.markdown import ROOT
from tests.shop import open_shop

pytestmark = pytest.mark.spark


@pytest.fixture
def connect_url(spark: SparkSession) -> Iterator[str]:
    """A server in the JVM that is there: starting one more would cost more than the test."""
    jvm: Any = spark._jvm
    context = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.address", "127.0.0.1")
    context.conf().set("spark.connect.grpc.binding.port", "0")
    service = getattr(
        getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$"
    )
    service.start(context)
    try:
        yield f"sc://127.0.0.1:{service.localPort()}"
    finally:
        nothing = jvm.scala.Option.empty()
        service.stop(nothing, nothing)


def test_connect_reads_and_streams_and_refuses_to_keep_tables(
    connect_url: str, client_packages: Path, tmp_path: Path
) -> None:
    shop = open_shop(tmp_path)
    head = shop.drain()
    client = ROOT / "tests" / "spark" / "connect_client.py"
    done = subprocess.run(
        [sys.executable, client, connect_url, shop.log.path, tmp_path],
        env={**os.environ, "PYTHONPATH": f"{client_packages}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("session").startswith("pyspark.sql.connect")
    assert found == {
        "events": head,
        "again": head,
        "streamed": head,
        "refused": ["spark-connect"] * 3,
    }
    acked = {cursor.name: cursor.acked for cursor in shop.log.info().cursors}
    assert acked["client"] > 0
