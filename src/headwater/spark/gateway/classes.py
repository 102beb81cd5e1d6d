"""Classes of the JVM by their full names.

`jvm.org.apache.spark…` would ask the JVM for each name between the dots, and what is a package it
looks for in each of three hundred jars: a small batch spent a tenth of its time on that.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession


def java_class(session: SparkSession, name: str) -> Any:
    """A class, whose members are the static ones."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no public door to it
    return JavaClass(name, gateway._gateway_client)  # noqa: SLF001


def singleton(session: SparkSession, name: str) -> Any:
    """A Scala object."""
    return getattr(java_class(session, f"{name}$"), "MODULE$")
