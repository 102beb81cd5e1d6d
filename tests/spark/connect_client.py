"""A client of Spark Connect, as a process of its own: `connect_client.py URL LOG FOLDER`.

Prints what it found, as JSON. The packages of the client are not among those of the project.
"""

import json
import sys

from pyspark.sql import SparkSession

from headwater.app.spark import KafkaJob, TableJob, Topic, as_of, decode, encode, register
from headwater.errors import ConfigError


def main(url: str, log: str, folder: str) -> None:
    spark = SparkSession.builder.remote(url).getOrCreate()
    register(spark)
    events = spark.read.format("headwater").load(log)
    again = decode(encode(events, "debezium"), "debezium")
    stream = spark.readStream.format("headwater").option("consumer", "client")
    query = (
        stream.option("maxRowsPerTrigger", 2)
        .load(log)
        .writeStream.format("parquet")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/rows")
    )
    query.awaitTermination()
    refused = []
    for call in (
        lambda: TableJob(log, f"{folder}/lake").run_once(spark),
        lambda: KafkaJob(Topic("127.0.0.1:1", "t"), f"{folder}/lake").run_once(spark),
        lambda: as_of(spark, f"{folder}/lake"),
    ):
        try:
            call()
        except ConfigError as exc:
            refused.append(exc.code)
    found = {
        "session": type(spark).__module__,
        "events": events.count(),
        "again": again.count(),
        "streamed": spark.read.parquet(f"{folder}/rows").count(),
        "refused": refused,
    }
    spark.stop()
    sys.stdout.write(json.dumps(found))


main(*sys.argv[1:])
