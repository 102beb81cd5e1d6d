"""The jars that Spark needs for Delta: fetched once from Maven Central, then plain local files.

Spark can resolve them itself at every start, but that costs seconds, needs the network each time,
and reports a failure only as a JVM that went away. So they are resolved by the Ivy that comes with
PySpark, in a process of its own with a time limit, into a cache that later starts just list.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyspark

from headwater.errors import MachineError

DELTA_VERSION = "4.4.0"
DELTA = f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"

# The other dependencies that Ivy brings are already among Spark's own jars.
_NEEDED = (
    "io.delta_delta-spark",
    "io.delta_delta-storage",
    "io.delta_delta-kernel-api",
    "io.delta_delta-kernel-defaults",
    "io.delta_delta-kernel-unitycatalog",
    "io.unitycatalog_unitycatalog-client",
    "io.unitycatalog_unitycatalog-hadoop",
)
_TIME_LIMIT_S = 300


def cache_folder() -> Path:
    """Where jars are kept: HEADWATER_CACHE, else the user's cache."""
    base = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "headwater" / "jars" / f"delta-{DELTA_VERSION}"


def cached() -> tuple[Path, ...]:
    """The jars if they are all there, else nothing."""
    found = []
    for prefix in _NEEDED:
        match = sorted(cache_folder().glob(f"{prefix}*.jar"))
        if not match:
            return ()
        found.append(match[0])
    return tuple(found)


def ensure() -> tuple[Path, ...]:
    """The jars, fetched if need be; MachineError with the way out if that fails."""
    return cached() or _fetch()


def _fetch() -> tuple[Path, ...]:
    java = java_command()
    ivy = next(Path(pyspark.__path__[0]).glob("jars/ivy-*.jar"), None)
    if ivy is None:
        raise MachineError("spark-jars", "PySpark comes without Ivy, which fetches the jars")
    group, artifact, version = DELTA.split(":")
    with tempfile.TemporaryDirectory(prefix="headwater-jars-") as work:
        command = [java, "-jar", str(ivy), "-dependency", group, artifact, version]
        command += ["-cache", f"{work}/cache", "-confs", "default", "-types", "jar", "bundle"]
        command += ["-retrieve", f"{work}/jars/[organization]_[artifact]-[revision].[ext]"]
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise MachineError(
                "spark-jars", f"{DELTA} was not fetched within {_TIME_LIMIT_S} s"
            ) from exc
        _keep(Path(work) / "jars")
        jars = cached()
        if not jars:
            tail = " ".join((done.stdout + done.stderr).split())[-300:]
            raise MachineError("spark-jars", f"{DELTA} could not be fetched: {tail}")
        return jars


def _keep(fetched: Path) -> None:
    """Move into the cache file by file, each by rename: a second process may do the same."""
    target = cache_folder()
    target.mkdir(parents=True, exist_ok=True)
    for jar in fetched.glob("*.jar"):
        if not jar.name.startswith(_NEEDED):
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
