"""Every log keeps the promises of contract.Log."""

from pathlib import Path

import pytest

from headwater.contract import Log
from headwater.log import SqliteLog
from headwater.testing.conformance.log import LogConformance
from headwater.testing.memory import MemoryLog


class TestSqliteLog(LogConformance):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Log:
        return SqliteLog(tmp_path / "events.hwlog")


class TestMemoryLog(LogConformance):
    @pytest.fixture
    def log(self) -> Log:
        return MemoryLog()
