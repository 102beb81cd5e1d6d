"""What the README and the guide show is what happens: their blocks are run, in order, per file.

Each file gets a directory with a sample database `shop.db`. Python blocks share one namespace; of
shell blocks, the lines that call `headwater` run and must succeed; a YAML block with a title is
written to the file of that name. `<!-- no-run: reason -->` above a block leaves it out, which the
end of the run tells; `<!-- spark -->` keeps it for the run under the spark marker.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.app.demo.shop import create_shop
from tests.docs.markdown import ROOT, blocks, pages
from tests.docs.running import FOR_COMMANDS, chosen_blocks, run_blocks
from tests.fix_spark import CONF_DIR

FILES = pages()


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    create_shop(tmp_path / "shop.db", customers=5)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _activated() -> dict[str, str]:
    """What a reader has who activated the environment, on a machine that stays by itself."""
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_blocks_of_page_run_when_spark_is_not_needed(path: Path, shop: Path) -> None:
    run_blocks(chosen_blocks(path, spark=False), shop)


def _settings(path: Path, warm_jvm: dict[str, str]) -> dict[str, str]:
    """The first page that anybody runs has Spark's own settings, the others those of tests."""
    if path.name == "README.md":
        return {CONF_DIR: ""}
    return {f"{FOR_COMMANDS}{name}": value for name, value in warm_jvm.items()}


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "path", [path for path in FILES if any(b.needs_spark for b in blocks(path))], ids=_name
)
def test_blocks_of_page_run_when_spark_is_there(
    path: Path, shop: Path, warm_jvm: dict[str, str]
) -> None:
    # A process of its own: Spark keeps one JVM per process, and the JVM its working directory.
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.running", str(path)],
        cwd=shop,
        env={**os.environ, "PYTHONPATH": str(ROOT), **_activated(), **_settings(path, warm_jvm)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
