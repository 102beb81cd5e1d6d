"""Says at the end of a run which blocks of the pages were not run, and why."""

from __future__ import annotations

import pytest

from tests.docs.markdown import blocks, pages


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for path in pages():
        for block in blocks(path):
            if block.reason_not_to_run:
                terminalreporter.write_line(f"not run: {block.where}: {block.reason_not_to_run}")
