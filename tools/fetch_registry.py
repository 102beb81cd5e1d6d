"""Apicurio Registry, to test with a real schema registry: from Maven Central, not installed.

Ivy, which comes with PySpark, resolves the package by its name; the archive must have the digest
that is written here. Nothing outside the cache directory is touched.

    python tools/fetch_registry.py        fetch it if it is missing; print its program
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pyspark

from headwater.spark.jars import java_command

__all__ = ["java_command", "program"]

VERSION = "3.0.9"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_IVY_FILE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.headwater" module="test-servers"/>
  <dependencies>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" transitive="false">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
# Maven Central, and the archive alone: the poms above it are of no use here.
_SETTINGS_FILE = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""
_TIMEOUT_S = 600


def home() -> Path:
    """Where the registry is kept: HEADWATER_CACHE, else the user's cache."""
    base = os.environ.get("HEADWATER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "headwater" / "servers" / f"apicurio-registry-{VERSION}"


def program() -> Path:
    """The registry's jar, fetched if it is missing."""
    jar = home() / f"apicurio-registry-app-{VERSION}-runner.jar"
    if not jar.exists():
        _fetch()
    return jar


def _fetch() -> None:
    """Fetch and unpack, whole or not at all: a second process may do the same."""
    home().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home().parent) as directory:
        work = Path(directory)
        archive = _download(work)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != _SHA256:
            raise RuntimeError(f"{archive.name} is not the archive that was asked for")
        with tarfile.open(archive) as packed:
            packed.extractall(work / "unpacked", filter="data")
        try:
            (work / "unpacked").rename(home())
        except OSError:
            if not home().exists():
                raise


def _download(work: Path) -> Path:
    (work / "ivy.xml").write_text(_IVY_FILE)
    (work / "settings.xml").write_text(_SETTINGS_FILE)
    ivy = next(Path(pyspark.__path__[0]).glob("jars/ivy-*.jar"))
    done = subprocess.run(
        [
            *(java_command(), "-jar", str(ivy), "-settings", str(work / "settings.xml")),
            *("-ivy", str(work / "ivy.xml")),
            *("-cache", str(work / "cache"), "-retrieve", str(work / "got" / "[artifact].[ext]")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    got = work / "got" / "apicurio-registry-app.tar.gz"
    if not got.exists():
        tail = " ".join((done.stdout + done.stderr).split())[-500:]
        raise RuntimeError(f"Apicurio Registry {VERSION} could not be fetched: {tail}")
    return got


def main() -> int:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("this needs Java 17")
        return 3
    print(program())
    return 0


if __name__ == "__main__":
    sys.exit(main())
