"""Apicurio Registry, to test with a real schema registry: from Maven Central, not installed.

Ivy, which comes with PySpark, resolves the package by its name; the archive must have the digest
that is written here. Nothing outside the cache directory is touched.

    python -m tools.fetch_registry        fetch it if it is missing; print its program
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from headwater.spark.jars import java_command
from tools.central import download

__all__ = ["java_command", "program"]

VERSION = "3.0.9"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_PACKAGE = f"io.apicurio:apicurio-registry-app:{VERSION}:all"


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
        archive = download(work, _PACKAGE, "tar.gz", _SHA256)
        with tarfile.open(archive) as packed:
            packed.extractall(work / "unpacked", filter="data")
        try:
            (work / "unpacked").rename(home())
        except OSError:
            if not home().exists():
                raise


def main() -> int:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("this needs Java 17")
        return 3
    print(program())
    return 0


if __name__ == "__main__":
    sys.exit(main())
