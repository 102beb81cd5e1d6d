"""Versions of everything that a bug report should name, found without importing it."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from headwater._version import __version__
from headwater.app.registry import default_registry

_LIBRARIES = ("pyarrow", "pyspark", "pydantic", "starlette", "fastavro", "protobuf")


def versions() -> dict[str, Any]:
    """Headwater, Python, SQLite, the libraries, and the parts that are registered."""
    libraries = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    libraries |= {name: installed_version(name) for name in _LIBRARIES}
    return {
        "headwater": __version__,
        "libraries": libraries,
        "parts": dict(default_registry().names()),
    }


def installed_version(name: str) -> str:
    """The version of an installed distribution, without importing it."""
    try:
        return installed(name)
    except PackageNotFoundError:
        return "not installed"
