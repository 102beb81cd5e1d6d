"""The machine: interpreter, libraries, Java, memory of it all on disk."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from headwater.app.finding import Finding, Severity
from headwater.app.version import installed_version
from headwater.errors import HeadwaterError

_OLDEST_PYTHON = (3, 11)
_OLDEST_SQLITE = (3, 37, 0)  # pragma_table_list, which introspection reads
_JAVA_VERSIONS = (17, 21)
_LOW_DISK_BYTES = 2 << 30


def machine_checks(*, needs_spark: bool, table_format: str = "parquet") -> list[Finding]:
    """Findings about this machine. What nobody needs is information, not an error."""
    findings = [_python(), _sqlite(), _disk("temporary space", Path(tempfile.gettempdir()))]
    findings += [_java(needed=needs_spark), _pyspark(needed=needs_spark)]
    if find_spec("pyspark") is not None:
        findings.append(_jars(table_format))
    return findings


def _python() -> Finding:
    text = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        return Finding("Python", "error", text, "machine-python", "install Python 3.11 or newer")
    return Finding("Python", "ok", text)


def _sqlite() -> Finding:
    text = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        return Finding(
            "SQLite library", "error", text, "machine-sqlite", "use a Python with SQLite 3.37+"
        )
    return Finding("SQLite library", "ok", text)


def _java(*, needed: bool) -> Finding:
    severity: Severity = "error" if needed else "info"
    fix = "install Java 17 (Debian: apt install openjdk-17-jre-headless) and set JAVA_HOME"
    executable = java_executable()
    if executable is None:
        return Finding("Java", severity, "no java in JAVA_HOME or PATH", "spark-java", fix)
    version = _java_version(executable)
    text = f"{version or 'unknown version'} at {executable}"
    if version not in _JAVA_VERSIONS:
        return Finding("Java", "warning" if version else severity, text, "spark-java", fix)
    return Finding("Java", "ok", text)


def java_executable() -> str | None:
    """The java that Spark will start: JAVA_HOME first, then PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        return str(candidate) if os.access(candidate, os.X_OK) else None
    return shutil.which("java")


def _java_version(executable: str) -> int | None:
    try:
        done = subprocess.run(  # noqa: S603 - the java that the user configured
            [executable, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def _pyspark(*, needed: bool) -> Finding:
    if find_spec("pyspark") is None:
        return Finding(
            "PySpark",
            "error" if needed else "info",
            "not installed",
            "spark-missing",
            "pip install 'headwater[spark]'",
        )
    return Finding("PySpark", "ok", installed_version("pyspark"))


def _jars(table_format: str) -> Finding:
    from headwater.spark.jars import cache_folder, cached

    needed = table_format != "parquet"
    wanted = table_format if needed else "delta"
    what = f"{wanted.capitalize()} jars"
    try:
        if cached(wanted):
            return Finding(what, "ok", f"in {cache_folder(wanted)}")
    except HeadwaterError as exc:
        severity: Severity = "error" if needed else "info"
        return Finding(what, severity, exc.message, exc.code, exc.hint)
    return Finding(
        what,
        "warning" if needed else "info",
        f"not in {cache_folder(wanted)} yet",
        "spark-jars",
        "they are fetched from Maven Central at the first start; without network, use"
        " table_format: parquet",
    )


def _disk(what: str, path: Path) -> Finding:
    free = shutil.disk_usage(path).free
    text = f"{free / 2**30:.1f} GiB free at {path}"
    if free < _LOW_DISK_BYTES:
        return Finding(what, "warning", text, "machine-disk", "free some space")
    return Finding(what, "ok", text)
