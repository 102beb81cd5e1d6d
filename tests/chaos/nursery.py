"""Starts workers fast: everything is imported once, then each worker is a fork that can be killed.

One JSON job per line comes in; the pid of the worker goes out, and its exit status when it ended.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from headwater import failpoint
from tests.chaos import postgres_worker, worker
from tests.chaos.worker import Job, Place


def serve() -> None:
    for line in sys.stdin:
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _become(job)
        _say(pid)
        _, status = os.waitpid(pid, 0)
        _say(os.waitstatus_to_exitcode(status))


def _become(job: Job) -> None:
    """The worker's whole life. An error leaves through the top and ends the process with 1."""
    descriptor = os.open(Place.of(job).failure, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(descriptor, sys.stderr.fileno())
    os.environ["HEADWATER_FAILPOINT"] = job.failpoints
    importlib.reload(failpoint)  # the variable is read at import, as in any other process
    work = postgres_worker.work if job.dsn else worker.work
    work(job)
    os._exit(0)


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve()
