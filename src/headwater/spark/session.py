"""A Spark session that is quiet, local, and knows the table format."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headwater.spark import jars

_LOG4J = """status = off
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nobody looks at the plans: the default mode formats each of them, also without a UI.
    "spark.sql.ui.explainMode": "simple",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    # Else every stream and session starts Python daemons of its own, which stay until the JVM ends.
    "spark.sql.artifact.isolation.enabled": "false",
}
CATALOG = "headwater"
_EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
_DELTA_CATALOG = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_JVM_END_S = 60
# Small tables in a small process: Delta's defaults plan for a cluster.
_DELTA_LOCAL = {
    "spark.databricks.delta.snapshotPartitions": "2",
    # VACUUM lists folders in as many tasks as this, and the default is ten thousand.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}


def delta_conf() -> dict[str, str]:
    """The confs that Delta needs, for a session of your own."""
    return table_conf("delta")


def iceberg_conf(target: str | None = None) -> dict[str, str]:
    """The confs that Iceberg needs, for a session of your own.

    With a target, its tables are known there as `headwater.NAME`.
    """
    return table_conf("iceberg") | ({} if target is None else folder_conf(target))


def folder_conf(location: str, name: str = CATALOG) -> dict[str, str]:
    """The confs that make a folder of Iceberg tables a catalog."""
    catalog = f"spark.sql.catalog.{name}"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": location,
        # A position read from a remembered table could be an old one.
        f"{catalog}.cache-enabled": "false",
    }


def table_conf(*formats: str) -> dict[str, str]:
    """The confs of one format or of several in one session."""
    return {**_known(*formats), **_jars_conf(*formats)}


def kafka_conf() -> dict[str, str]:
    """The confs that Spark's Kafka source and sink need, for a session of your own."""
    return _jars_conf("kafka")


def avro_conf() -> dict[str, str]:
    """The confs that Spark's functions on Avro need, for a session of your own."""
    return _jars_conf("avro")


def _known(*formats: str) -> dict[str, str]:
    extensions = ",".join(_EXTENSIONS[each] for each in formats)
    catalog = _DELTA_CATALOG if "delta" in formats else {}
    return {**catalog, "spark.sql.extensions": extensions}


def _jars(*sets: str) -> list[str]:
    return [str(jar) for each in sets for jar in jars.ensure(each)]


def _jars_conf(*sets: str) -> dict[str, str]:
    return {"spark.jars": ",".join(_jars(*sets))}


def local_session(
    *,
    formats: Sequence[str] = ("delta",),
    kafka: bool = False,
    avro: bool = False,
    cores: int = 2,
    memory: str = "2g",
    extra: dict[str, str] | None = None,
) -> SparkSession:
    """A local session whose JVM writes to a file instead of the terminal.

    `formats` names the table formats whose jars it has: `delta`, `iceberg`, both, or none.
    The JVM's output, with the reason of a failed start, is in `HEADWATER_SPARK_LOG` if that is set,
    else in a new folder of the system's temporary directory.
    """
    folder = _log_folder()
    jars.java_command()
    properties = folder / "log4j2.properties"
    properties.write_text(_LOG4J.format(log=folder / "spark.log"))
    settings = {
        **_LOCAL,
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={properties}",
    }
    if formats:
        settings |= _known(*formats) | _DELTA_LOCAL
    others = [each for each, wanted in (("kafka", kafka), ("avro", avro)) if wanted]
    # The driver is the executor here. `spark.jars` would be copied at each start, and looked
    # through only after Spark's own three hundred, for each class.
    if files := _jars(*formats, *others):
        settings["spark.driver.extraClassPath"] = os.pathsep.join(files)
    settings |= extra or {}
    # Workers must be this Python, not the first one on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf(loadDefaults=False).setMaster(f"local[{cores}]").setAppName("headwater")
    for name, value in settings.items():
        conf.set(name, value)
    with (folder / "jvm.log").open("wb") as output:
        gateway = launch_gateway(  # type: ignore[no-untyped-call]  # pyspark leaves it untyped
            conf, popen_kwargs={"stdout": output, "stderr": output}
        )
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def end_session(session: SparkSession) -> None:
    """Stop the session and its JVM: PySpark would keep the JVM for the next, with its old jars.

    One that was there before us, as under spark-submit, is whoever's started it.
    """
    session.stop()
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way to let go
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=_JVM_END_S)


def _log_folder() -> Path:
    chosen = os.environ.get("HEADWATER_SPARK_LOG")
    folder = Path(chosen or tempfile.mkdtemp(prefix="headwater-spark-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
