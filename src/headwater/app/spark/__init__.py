"""Spark over the embedded log: tables in a few words, Kafka in and out, and what commands ask.

- job.py: a log to tables. kafka_job.py: a topic to tables. kafka.py: events to a topic and back.
  versions.py: all tables at one position. session.py, source.py: sessions, and
  `format("headwater")` for the workers.
- origin.py, feed.py: where a read's events come from, and capture beside it.
- formats.py, functions.py, native.py: functions on frames that need a log or a format.
- loop.py: Spark as a part of a pipeline. meter.py, places.py, presence.py: what it shows and
  leaves beside the log. checkpoint.py, state.py: the commands.

In a session of your own, `register(spark)` makes `spark.readStream.format("headwater")` work; with
the package installed on the cluster Spark also finds it by itself through `pyspark_headwater`.

The names below are the public surface. Each is loaded when it is first used: a pipeline without
Spark, and a worker that only reads, must not pay for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.app.spark.formats import decode, encode
    from headwater.app.spark.job import TableJob
    from headwater.app.spark.kafka import (
        Topic,
        kafka_events,
        kafka_records,
        read_kafka,
        write_kafka,
    )
    from headwater.app.spark.kafka_job import KafkaJob
    from headwater.app.spark.session import register, spark_session
    from headwater.app.spark.targets import TableFormat
    from headwater.app.spark.versions import as_of

__all__ = [
    "KafkaJob",
    "TableFormat",
    "TableJob",
    "Topic",
    "as_of",
    "decode",
    "encode",
    "kafka_events",
    "kafka_records",
    "read_kafka",
    "register",
    "spark_session",
    "write_kafka",
]

_HOME_OF = {
    "KafkaJob": "kafka_job",
    "TableFormat": "targets",
    "TableJob": "job",
    "Topic": "kafka",
    "as_of": "versions",
    "decode": "formats",
    "encode": "formats",
    "kafka_events": "kafka",
    "kafka_records": "kafka",
    "read_kafka": "kafka",
    "register": "session",
    "spark_session": "session",
    "write_kafka": "kafka",
}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
