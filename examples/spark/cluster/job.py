"""Keep Delta tables from a log, on whatever cluster the job was submitted to.

    submit.sh /shared/shop.hwlog s3a://lake/shop

The session comes from spark-submit: master, packages and settings are not said here.
"""

import argparse

from pyspark.sql import SparkSession

from headwater.app.spark import TableJob


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", help="the log; driver and executors must reach it by this path")
    parser.add_argument("target", help="where the tables are: a path or a URI")
    parser.add_argument("--every", type=float, help="seconds between batches; without it, once")
    parser.add_argument("--max-events", type=int, default=200_000, help="the most of a batch")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("headwater").getOrCreate()
    job = TableJob(given.log, given.target, interval_s=given.every, max_events=given.max_events)
    if given.every is None:
        print("applied up to event", job.run_once(spark))
    else:
        job.start(spark).wait()
    spark.stop()


if __name__ == "__main__":
    main()
