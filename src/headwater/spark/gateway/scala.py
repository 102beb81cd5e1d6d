"""Scala's values through py4j, for the parts of Delta that PySpark has no door to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession


def jvm_of(session: SparkSession) -> Any:
    """The JVM behind a session."""
    return session._jvm  # noqa: SLF001 - PySpark has no public door to it


def none(session: SparkSession) -> Any:
    """Scala's None."""
    return jvm_of(session).scala.Option.empty()


def some(session: SparkSession, value: Any) -> Any:
    """Scala's Some."""
    return jvm_of(session).scala.Option.apply(value)


def sequence(session: SparkSession, items: Sequence[Any]) -> Any:
    """A Seq."""
    return jvm_of(session).org.apache.spark.api.python.PythonUtils.toSeq(list(items))


def items_of(found: Any) -> list[Any]:
    """What a Seq holds."""
    return [found.apply(place) for place in range(found.size())]


def singleton(package: Any, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def activate(session: SparkSession) -> None:
    """Make it the session of this thread: parts of Delta ask for that."""
    spark = jvm_of(session).org.apache.spark.sql.classic.SparkSession
    spark.setActiveSession(session._jsparkSession)  # noqa: SLF001
