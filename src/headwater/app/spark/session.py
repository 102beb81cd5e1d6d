"""Sessions: `format("headwater")` made known to any, and a local one of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.app.spark.source import HeadwaterDataSource
from headwater.app.spark.targets import TableFormat
from headwater.errors import ConfigError, HeadwaterError, MachineError, StateError
from headwater.spark.classic import is_classic
from headwater.spark.session import end_session, local_session
from headwater.spark.source.tasks import USUAL


def register(session: SparkSession) -> None:
    """Make `format("headwater")` known to the session, which reads with all of its cores then."""
    session.dataSource.register(_of_session(cores_of(session)))


def cores_of(session: SparkSession) -> int:
    """The session's cores by now: on a cluster those of the executors that are there."""
    if is_classic(session):
        return session.sparkContext.defaultParallelism
    return USUAL  # a client of Spark Connect is not told


@cache
def _of_session(cores: int) -> type[HeadwaterDataSource]:
    """The data source for so many cores.

    It is sent to workers by value, as what has no name in a module is; so it brings the number.
    """

    class OfSession(HeadwaterDataSource):
        pass

    OfSession.cores = cores
    return OfSession


@contextmanager
def spark_session(
    table_format: TableFormat = "delta",
    master: str = "local[2]",
    *,
    kafka: bool = False,
    avro: bool = False,
) -> Iterator[SparkSession]:
    """A quiet local session that ends with the block.

    `kafka` adds Spark's connector for Kafka, `avro` its functions on Avro.
    """
    if not master.startswith("local"):
        raise ConfigError(
            "spark-master",
            f"this process starts only local sessions, not {master}",
            hint="submit the job with spark-submit and call TableJob(...).start(spark)",
        )
    cores = master.removeprefix("local").strip("[]") or "1"
    try:
        session = local_session(
            formats=() if table_format == "parquet" else (table_format,),
            kafka=kafka,
            avro=avro,
            cores=os.cpu_count() or USUAL if cores == "*" else int(cores),
        )
    except HeadwaterError:
        raise
    except Exception as exc:
        raise MachineError("spark-start", f"Spark's JVM did not start: {exc}") from exc
    try:
        register(session)
        yield session
    finally:
        end_session(session)


@contextmanager
def telling_session(table_format: TableFormat, master: str) -> Iterator[SparkSession]:
    """The same for commands: Spark's own errors end it with a code.

    They ask the JVM for their text when they are shown, and by then it would be gone.
    """
    with spark_session(table_format, master) as session:
        try:
            yield session
        except (Py4JError, PySparkException) as exc:
            raise StateError("spark-failed", _said(str(exc))) from exc


def _said(text: str) -> str:
    """The line that says what happened, without the traces below and py4j's words above it."""
    first, _, rest = text.partition("\n")
    return (rest.partition("\n")[0] if first.startswith("An error occurred") else first).strip(": ")
