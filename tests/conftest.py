"""A skipped suite is not a passed suite: with HEADWATER_NO_SKIPS=1 every skip fails the run.

The one exception, named in the README: conformance tests of abilities that a part does not declare.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator

import hypothesis
import pytest

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("headwater", deadline=None)
hypothesis.settings.load_profile("headwater")

pytest_plugins = ["tests.fix_postgres", "tests.fix_spark"]

_DOES_NOT_APPLY = " declares no "
SKIPPED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SKIPPED] = []
    # A run in the background inherits an ignored Ctrl-C, and so would the processes under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and _DOES_NOT_APPLY not in str(report.longrepr)
    ):
        item.config.stash[SKIPPED].append(item.nodeid)
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    skipped = session.config.stash[SKIPPED]
    if skipped and exitstatus == 0 and os.environ.get("HEADWATER_NO_SKIPS"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        sys.stderr.write(f"\n{len(skipped)} skipped tests count as failures: {', '.join(skipped)}")
