"""The installed command as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one envelope on standard output, and nothing else."""
        envelope: dict[str, Any] = json.loads(self.out)
        assert list(envelope) == ["command", "ok", "summary", "result", "error"]
        return envelope


class Cli:
    """Runs commands in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *words: str | Path, timeout_s: float = 60, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "headwater", *map(str, words)],
            cwd=self.directory,
            env=os.environ | {"COLUMNS": "80"} | environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "\x1b" not in done.stdout + done.stderr, "escape codes in a pipe"
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands run in an empty directory."""
    return Cli(tmp_path)
