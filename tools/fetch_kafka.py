"""Apache Kafka's broker, to test with a real one: from Maven Central, not installed.

Ivy, which comes with PySpark, resolves the broker and what it needs; together they must have the
digest that is written here. Nothing outside the cache directory is touched.

    python -m tools.fetch_kafka        fetch it if it is missing; print its folder
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from headwater.spark.jars import java_command
from tools.fetch_registry import home as registry_home

__all__ = ["classpath", "java_command"]

VERSION = "4.1.0"
_SHA256 = "b914a17c84333a1b85626022e4711ee2fbe1dc0cf0f5080494eef98642b414fe"
_TIMEOUT_S = 600


def home() -> Path:
    """Where the broker is kept: beside the schema registry."""
    return registry_home().parent / f"kafka-{VERSION}"


def classpath() -> str:
    """What `java -cp` takes to run the broker, fetched if it is missing."""
    if not home().exists():
        _fetch()
    return f"{home()}/*"


def _fetch() -> None:
    """Fetch, whole or not at all: a second process may do the same."""
    home().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home().parent) as directory:
        jars = Path(directory) / "jars"
        done = subprocess.run(
            [
                *(java_command(), "-jar", str(next(Path(pyspark.__path__[0]).glob("jars/ivy-*")))),
                *("-dependency", "org.apache.kafka", "kafka_2.13", VERSION),
                *("-confs", "default", "-types", "jar", "bundle", "-cache", f"{directory}/cache"),
                *("-retrieve", f"{jars}/[organization]_[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        found = digest(jars)
        if found != _SHA256:
            tail = " ".join((done.stdout + done.stderr).split())[-500:]
            raise RuntimeError(f"Kafka {VERSION} is not what was asked for ({found}): {tail}")
        try:
            shutil.move(jars, home())
        except OSError:
            if not home().exists():
                raise


def digest(jars: Path) -> str:
    """One digest of all jars, by name."""
    whole = hashlib.sha256()
    for jar in sorted(jars.glob("*.jar")):
        whole.update(jar.name.encode() + hashlib.sha256(jar.read_bytes()).digest())
    return whole.hexdigest()


if __name__ == "__main__":
    print(classpath())
    sys.exit(0)
