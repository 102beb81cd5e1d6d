"""Running the blocks of one page: in this process, or as `python -m tests.docs.running PAGE`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.docs.markdown import ROOT, Block, blocks

SHELL = {"bash", "console", "sh", "shell"}
COMMAND_TIMEOUT_S = 300


def chosen_blocks(path: Path, *, spark: bool) -> list[Block]:
    """The blocks of the page that run, with or without those that need Spark."""
    return [
        block
        for block in blocks(path)
        if _runs(block) and not block.reason_not_to_run and (spark or not block.needs_spark)
    ]


def _runs(block: Block) -> bool:
    if block.language in SHELL:
        return bool(block.commands())
    return block.language == "python" or (block.language == "yaml" and block.title is not None)


def run_blocks(chosen: list[Block], directory: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in chosen:
        try:
            _run_block(block, directory, namespace)
        except BaseException as exc:
            exc.add_note(f"in the block at {block.where}")
            raise


def _run_block(block: Block, directory: Path, namespace: dict[str, Any]) -> None:
    if block.language == "python":
        # The empty lines make a traceback point at the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(block.path), "exec")
        exec(code, namespace)
    elif block.language == "yaml" and block.title is not None:
        (directory / block.title).write_text(block.text)
    else:
        for command in block.commands():
            _run_command(command, directory)


def _run_command(command: str, directory: Path) -> None:
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        shlex.split(command, comments=True),
        cwd=directory,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    run_blocks(chosen_blocks(Path(sys.argv[1]), spark=True), Path.cwd())
