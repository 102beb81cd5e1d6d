"""The jars of a table format: fetched once from Maven Central, then plain local files.

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
    """What one table format needs on one Spark: an artifact, its folder in the cache, its jars.

    The other dependencies that Ivy brings are already among Spark's own jars.
    """

    artifact: str
    folder: str
    needed: tuple[str, ...]


_DELTA = (
    "io.delta_delta-spark",
    "io.delta_delta-storage",
    "io.delta_delta-kernel-api",
    "io.delta_delta-kernel-defaults",
    "io.delta_delta-kernel-unitycatalog",
    "io.unitycatalog_unitycatalog-client",
    "io.unitycatalog_unitycatalog-hadoop",
)
_ICEBERG = ("org.apache.iceberg_iceberg-spark-runtime",)
_SETS = {
    ("delta", "4.2"): JarSet("io.delta:delta-spark_4.2_2.13:4.4.0", "delta-4.4.0", _DELTA),
    ("delta", "4.1"): JarSet(
        "io.delta:delta-spark_4.1_2.13:4.4.0", "delta-4.4.0-spark-4.1", _DELTA
    ),
    ("iceberg", "4.1"): JarSet(
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "iceberg-1.12.0", _ICEBERG
    ),
}
# The newest Spark that has a build of the format, as a package.
_NEWEST = {"delta": "4.2.0", "iceberg": "4.1.4"}


def jar_set(table_format: str, spark: str = SPARK) -> JarSet:
    """What a format needs; MachineError if nobody has built it for this Spark."""
    found = _SETS.get((table_format, spark))
    if found is None:
        raise MachineError(
            "spark-no-build",
            f"{table_format.capitalize()} has no build for Spark {spark}",
            hint=f"pip install 'pyspark=={_NEWEST[table_format]}'",
        )
    return found


def cache_folder(table_format: str = "delta") -> Path:
    """Where a format's jars are kept: below HEADWATER_CACHE, else the user's cache."""
    base = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "headwater" / "jars" / jar_set(table_format).folder


def cached(table_format: str = "delta") -> tuple[Path, ...]:
    """The jars if they are all there, else nothing."""
    found = []
    for prefix in jar_set(table_format).needed:
        match = sorted(cache_folder(table_format).glob(f"{prefix}*.jar"))
        if not match:
            return ()
        found.append(match[0])
    return tuple(found)


def ensure(table_format: str = "delta") -> tuple[Path, ...]:
    """The jars, fetched if need be; MachineError with the way out if that fails."""
    return cached(table_format) or _fetch(table_format)


def _fetch(table_format: str) -> tuple[Path, ...]:
    java = java_command()
    ivy = next(Path(pyspark.__path__[0]).glob("jars/ivy-*.jar"), None)
    if ivy is None:
        raise MachineError("spark-jars", "PySpark comes without Ivy, which fetches the jars")
    wanted = jar_set(table_format)
    with tempfile.TemporaryDirectory(prefix="headwater-jars-") as work:
        command = [java, "-jar", str(ivy), "-dependency", *wanted.artifact.split(":")]
        command += ["-cache", f"{work}/cache", "-confs", "default", "-types", "jar", "bundle"]
        command += ["-retrieve", f"{work}/jars/[organization]_[artifact]-[revision].[ext]"]
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise MachineError(
                "spark-jars", f"{wanted.artifact} was not fetched within {_TIME_LIMIT_S} s"
            ) from exc
        _keep(Path(work) / "jars", cache_folder(table_format), wanted.needed)
        jars = cached(table_format)
        if not jars:
            tail = " ".join((done.stdout + done.stderr).split())[-300:]
            raise MachineError("spark-jars", f"{wanted.artifact} could not be fetched: {tail}")
        return jars


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
