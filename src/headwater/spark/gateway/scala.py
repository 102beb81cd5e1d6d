"""Scala's values through py4j, for the parts of Delta that PySpark has no door to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class

_OPTION = "scala.Option"
_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils"


def none(session: SparkSession) -> Any:
    """Scala's None."""
    return java_class(session, _OPTION).empty()


def some(session: SparkSession, value: Any) -> Any:
    """Scala's Some."""
    return java_class(session, _OPTION).apply(value)


def sequence(session: SparkSession, items: Sequence[Any]) -> Any:
    """A Seq."""
    return java_class(session, _PYTHON_UTILS).toSeq(list(items))


def items_of(found: Any) -> list[Any]:
    """What a Seq holds."""
    return [found.apply(place) for place in range(found.size())]


def activate(session: SparkSession) -> None:
    """Make it the session of this thread: parts of Delta ask for that."""
    spark = java_class(session, "org.apache.spark.sql.classic.SparkSession")
    spark.setActiveSession(session._jsparkSession)  # noqa: SLF001 - PySpark has no public door to it
