"""The command tree: every command keeps the same promises."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from headwater.cli.main import app

# What only some commands need, and --help must not wait for.
HEAVY = {
    *("pyarrow", "numpy", "rich", "pydantic", "yaml", "structlog"),
    *("pyspark", "starlette", "psycopg"),
}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield " ".join(path), command
        return
    for name, child in children.items():
        yield from leaves(child, (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help_json_and_an_example_when_listed(name: str) -> None:
    command = COMMANDS[name]
    assert command.help, "help text"
    assert "--json" in [option for each in command.params for option in each.opts]
    assert f"headwater {name}" in (command.epilog or ""), "an example of itself"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_explains_every_parameter_when_asked_for_help(name: str) -> None:
    silent = [each.name for each in COMMANDS[name].params if not getattr(each, "help", "")]
    assert not silent


@pytest.mark.parametrize("name", COMMANDS)
def test_command_summary_is_not_cut_off_when_the_tree_is_listed(name: str) -> None:
    assert len(COMMANDS[name].help.splitlines()[0]) <= 62


def test_tree_has_every_verb_when_complete() -> None:
    verbs = {
        *("init", "validate", "setup sqlite", "run", "tail", "status", "verify", "explain"),
        *("log info", "log check", "log repair", "log retain", "log rewind"),
        *("setup postgres", "slots list", "slots drop"),
        *("backfill start", "backfill status", "backfill pause", "backfill resume"),
        *("backfill stop", "backfill throttle"),
        *("doctor", "demo", "version", "convert", "testkit replay"),
        *("schema show", "schema json-schema", "schema proto", "schema avsc"),
        *("checkpoint export", "checkpoint import"),
        *("spark as-of", "spark release", "spark checkpoint inspect", "spark checkpoint rebuild"),
    }
    assert set(COMMANDS) == verbs


def test_help_imports_nothing_heavy_when_printed() -> None:
    code = "import sys; from headwater.__main__ import main; main(); print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(re.findall(r"'([a-z_0-9]+)'", done.stdout.splitlines()[-1]))
    assert not loaded & HEAVY


def test_help_takes_less_than_300_ms_of_processor_time_when_printed() -> None:
    """Processor time, because the wall clock of a busy machine measures its other work."""
    code = (
        "import subprocess, resource, sys;"
        "subprocess.run([sys.executable, '-m', 'headwater', '--help'], stdout=-3, check=True);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime)"
    )
    best = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    )
    assert best < 0.3
