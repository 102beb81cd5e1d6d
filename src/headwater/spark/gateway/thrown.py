"""What the JVM has thrown, by its class: its message is for people."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession


def is_thrown(session: SparkSession, error: BaseException, kind: str) -> bool:
    """Whether an error is, or was caused by, an exception of this class of Java's."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no public door to it
    thrown = _thrown(error)
    while thrown is not None:
        if is_instance_of(gateway, thrown, kind):
            return True
        thrown = thrown.getCause()
    return False


def _thrown(error: BaseException) -> Any | None:
    """Py4J's own errors have it, and so have those that PySpark makes of them."""
    found = getattr(error, "java_exception", None)
    return getattr(error, "_origin", None) if found is None else found
