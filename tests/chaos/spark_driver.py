"""The driver process that is killed: the log into tables, once through.

python -m tests.chaos.spark_driver DIRECTORY [--format delta] [--tables item] [--modes mirror scd2]
    [--max-events N] [--plant NAME]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from headwater.app.spark import spark_session
from headwater.errors import HeadwaterError
from headwater.spark.modes import MODES
from tests.chaos.spark_job import job_of
from tests.chaos.spark_plants import sow
from tests.chaos.worker import Place


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--format", default="delta")
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--modes", nargs="*", default=MODES)
    parser.add_argument("--max-events", type=int, default=200_000)
    parser.add_argument("--plant", default="")
    chosen = parser.parse_args()
    if chosen.plant:
        sow(chosen.plant)
    job = job_of(
        Place(chosen.directory),
        chosen.format,
        max_events=chosen.max_events,
        tables=chosen.tables,
        modes=chosen.modes,
        eager="spark.keep" in os.environ.get("HEADWATER_FAILPOINT", ""),
    )
    try:
        with spark_session(chosen.format) as session:
            job.run_once(session)
    except HeadwaterError as error:
        raise SystemExit(f"{error.code}: {error}") from error


if __name__ == "__main__":
    main()
