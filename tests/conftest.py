"""A skipped suite is not a passed suite: with HEADWATER_NO_SKIPS=1 every skip fails the run.

The one exception, named in the README: conformance tests of abilities that a part does not declare.
"""

from __future__ import annotations

import os
import signal
import sys

import hypothesis
import pytest

# How long an example takes says more about the machine than about the code.
# On CI the examples are the same every time: it judges the change, not the dice.
hypothesis.settings.register_profile(
    "headwater", deadline=None, derandomize="HEADWATER_NO_SKIPS" in os.environ
)
hypothesis.settings.load_profile("headwater")

pytest_plugins = ["tests.fix_kafka", "tests.fix_postgres", "tests.fix_registry", "tests.fix_spark"]

_DOES_NOT_APPLY = " declares no "


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_SkipGuard())
    # A run in the background inherits an ignored Ctrl-C, and so would the processes under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class _SkipGuard:
    def __init__(self) -> None:
        self._skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (
            report.skipped
            and not hasattr(report, "wasxfail")
            and _DOES_NOT_APPLY not in str(report.longrepr)
        ):
            self._skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._skipped and exitstatus == 0 and os.environ.get("HEADWATER_NO_SKIPS"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            names = ", ".join(self._skipped)
            sys.stderr.write(f"\n{len(self._skipped)} skipped tests count as failures: {names}")
