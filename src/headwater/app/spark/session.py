"""Sessions: `format("headwater")` made known to any, and a local one of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from headwater.app.spark.source import HeadwaterDataSource
from headwater.app.spark.targets import TableFormat
from headwater.errors import ConfigError, HeadwaterError, MachineError
from headwater.spark.session import end_session, local_session


def register(session: SparkSession) -> None:
    """Make `format("headwater")` known to the session."""
    session.dataSource.register(HeadwaterDataSource)


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
            cores=2 if cores == "*" else int(cores),
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
