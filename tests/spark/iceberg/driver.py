"""A driver of its own process, to be killed: python -m tests.spark.iceberg.driver LOG TARGET."""

from __future__ import annotations

import sys

from headwater.app.spark import TableJob, spark_session


def main(log: str, target: str) -> None:
    with spark_session("iceberg") as session:
        TableJob(log, target, "iceberg").run_once(session)


if __name__ == "__main__":
    main(*sys.argv[1:])
