"""Running the blocks of one page: in this process, or as `python -m tests.docs.running PAGE`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.docs.markdown import ROOT, Block, blocks

if TYPE_CHECKING:
    from headwater.app.spark import TableFormat

SHELL = {"bash", "console", "sh", "shell"}
COMMAND_TIMEOUT_S = 300
# Before the names of variables that only the commands of a page are to see.
FOR_COMMANDS = "COMMANDS_"


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


@contextmanager
def one_session() -> Iterator[None]:
    """Let the blocks of a page that open a session of ours share one of each kind.

    A page opens one for each thing that it shows, and readers start there; here each JVM would take
    longer than what it is started for.
    """
    from headwater.app import spark

    opened = spark.spark_session
    with ExitStack() as ended:
        kinds: dict[str, Any] = {}

        def shared(table_format: TableFormat = "delta") -> AbstractContextManager[Any]:
            if table_format not in kinds:
                ended.close()  # one process has one JVM
                kinds.clear()
                kinds[table_format] = ended.enter_context(opened(table_format))
            return nullcontext(kinds[table_format])

        spark.spark_session = shared  # type: ignore[assignment]
        try:
            yield
        finally:
            spark.spark_session = opened


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


def _warm() -> dict[str, str]:
    """The JVM that is there for the commands; the page itself has one that knows its directory."""
    told = (name for name in os.environ if name.startswith(FOR_COMMANDS))
    return {name.removeprefix(FOR_COMMANDS): os.environ[name] for name in told}


def _run_command(command: str, directory: Path) -> None:
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        shlex.split(command, comments=True),
        cwd=directory,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", **_warm()},
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    with one_session():
        run_blocks(chosen_blocks(Path(sys.argv[1]), spark=True), Path.cwd())
