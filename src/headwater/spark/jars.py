"""The jars that Spark needs, by what for: fetched once from Maven Central, then plain local files.

Spark can resolve them itself at every start, but that costs seconds, needs the network each time,
and reports a failure only as a JVM that went away. So they are resolved by the Ivy that comes with
PySpark, in a process of its own with a time limit, into a cache that later starts just list.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyspark

from headwater.errors import MachineError

SPARK = ".".join(pyspark.__version__.split(".")[:2])
_TIME_LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class JarSet:
    """Artifacts, their folder in the cache, and the jars of them that Spark does not have itself.

    Where `transitive` is false, the artifacts are all that is fetched.
    """

    folder: str
    artifacts: tuple[str, ...]
    needed: tuple[str, ...]
    transitive: bool = True


_DELTA = (
    "io.delta_delta-spark",
    "io.delta_delta-storage",
    "io.delta_delta-kernel-api",
    "io.delta_delta-kernel-defaults",
    "io.delta_delta-kernel-unitycatalog",
    "io.unitycatalog_unitycatalog-client",
    "io.unitycatalog_unitycatalog-hadoop",
)
_KAFKA = (
    "org.apache.spark_spark-sql-kafka",
    "org.apache.spark_spark-token-provider-kafka",
    "org.apache.kafka_kafka-clients",
    "org.apache.commons_commons-pool2",
)
# By what for and for which Spark.
_SETS = {
    ("delta", "4.2"): JarSet("delta-4.4.0", ("io.delta:delta-spark_4.2_2.13:4.4.0",), _DELTA),
    ("delta", "4.1"): JarSet(
        "delta-4.4.0-spark-4.1", ("io.delta:delta-spark_4.1_2.13:4.4.0",), _DELTA
    ),
    ("iceberg", "4.1"): JarSet(
        "iceberg-1.12.0",
        ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",),
        ("org.apache.iceberg_iceberg-spark-runtime",),
        transitive=False,
    ),
    ("kafka", "4.2"): JarSet(
        "kafka-4.2.0",
        (
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            # Delegation tokens for Kafka. Not every mirror has each version of this one.
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:[4.1.0-preview1,4.2.0]",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.13.1",
        ),
        _KAFKA,
        transitive=False,
    ),
    ("kafka", "4.1"): JarSet(
        "kafka-4.1",
        (
            "org.apache.spark:spark-sql-kafka-0-10_2.13:[4.1.0,4.1.4]",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:[4.1.0-preview1,4.1.4]",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.13.1",
        ),
        _KAFKA,
        transitive=False,
    ),
    # from_avro and to_avro; what they call is in Spark itself. Not every mirror has the newest.
    ("avro", "4.2"): JarSet(
        "avro-4.2.0",
        ("org.apache.spark:spark-avro_2.13:[4.1.1,4.2.0]",),
        ("org.apache.spark_spark-avro",),
        transitive=False,
    ),
    ("avro", "4.1"): JarSet(
        "avro-4.1.1",
        ("org.apache.spark:spark-avro_2.13:4.1.1",),
        ("org.apache.spark_spark-avro",),
        transitive=False,
    ),
}
SETS = tuple(dict.fromkeys(name for name, _ in _SETS))
# The newest Spark that there is a build for, as a package.
_NEWEST = {"delta": "4.2.0", "iceberg": "4.1.4", "kafka": "4.2.0", "avro": "4.2.0"}


def jar_set(name: str, spark: str = SPARK) -> JarSet:
    """What is needed for a name; MachineError if there is no build of it for this Spark."""
    found = _SETS.get((name, spark))
    if found is None:
        raise MachineError(
            "spark-no-build",
            f"{name.capitalize()} has no build for Spark {spark}",
            hint=f"pip install 'pyspark=={_NEWEST[name]}'",
        )
    return found


def cache_folder(name: str = "delta") -> Path:
    """Where the jars of a set are kept: below HEADWATER_CACHE, else the user's cache."""
    base = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "headwater" / "jars" / jar_set(name).folder


def cached(name: str = "delta") -> tuple[Path, ...]:
    """The jars if they are all there, else nothing."""
    found = []
    for prefix in jar_set(name).needed:
        match = sorted(cache_folder(name).glob(f"{prefix}*.jar"))
        if not match:
            return ()
        found.append(match[0])
    return tuple(found)


def ensure(name: str = "delta") -> tuple[Path, ...]:
    """The jars, fetched if need be; MachineError with the way out if that fails."""
    return cached(name) or _fetch(name)


def _fetch(name: str) -> tuple[Path, ...]:
    java, wanted = java_command(), jar_set(name)
    ivy = next(Path(pyspark.__path__[0]).glob("jars/ivy-*.jar"), None)
    if ivy is None:
        raise MachineError("spark-jars", "PySpark comes without Ivy, which fetches the jars")
    with tempfile.TemporaryDirectory(prefix="headwater-jars-") as work:
        module = Path(work) / "ivy.xml"
        module.write_text(_module(wanted))
        command = [java, "-jar", str(ivy), "-ivy", str(module)]
        command += ["-cache", f"{work}/cache", "-confs", "default", "-types", "jar", "bundle"]
        command += ["-retrieve", f"{work}/jars/[organization]_[artifact]-[revision].[ext]"]
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise MachineError(
                "spark-jars", f"{wanted.artifacts[0]} was not fetched within {_TIME_LIMIT_S} s"
            ) from exc
        _keep(Path(work) / "jars", cache_folder(name), wanted.needed)
        jars = cached(name)
        if not jars:
            tail = " ".join((done.stdout + done.stderr).split())[-300:]
            raise MachineError("spark-jars", f"{wanted.artifacts[0]} could not be fetched: {tail}")
        return jars


def _module(wanted: JarSet) -> str:
    """What Ivy is asked for."""
    more = 'conf="default->default"' if wanted.transitive else 'transitive="false"'
    asked = "".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" {more}/>'
        for group, artifact, version in (each.split(":") for each in wanted.artifacts)
    )
    info = '<info organisation="io.headwater" module="spark"/>'
    return f'<ivy-module version="2.0">{info}<dependencies>{asked}</dependencies></ivy-module>'


def _keep(fetched: Path, target: Path, needed: tuple[str, ...]) -> None:
    """Move into the cache file by file, each by rename: a second process may do the same."""
    target.mkdir(parents=True, exist_ok=True)
    for jar in fetched.glob("*.jar"):
        if not jar.name.startswith(needed):
            continue
        draft = target / f".{jar.name}.{os.getpid()}"
        shutil.copyfile(jar, draft)
        draft.replace(target / jar.name)


def java_command() -> str:
    """The java of JAVA_HOME or of the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MachineError("spark-java", "there is no java on the PATH and no JAVA_HOME")
    return java
