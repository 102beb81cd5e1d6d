"""Hints can be pasted: they name the configuration that the command was given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headwater.cli.main import main
from headwater.cli.paste import with_config
from headwater.errors import CATALOG
from tests.unit.cli.test_tree import COMMANDS

GIVEN = "no such.yaml"
_KINDS = ("FILE", "[FILE]", "URL|FILE", "LOG|FILE")
# Their FILE is not a configuration, or not one that has to be there.
_OTHERS = {"init", "checkpoint export", "checkpoint import"}


def _words(name: str) -> list[str] | None:
    """The command with the configuration, and something for whatever else it must be given."""
    arguments = [each for each in COMMANDS[name].params if each.param_type_name == "argument"]
    if name in _OTHERS or not [each for each in arguments if each.metavar in _KINDS]:
        return None
    given = [each for each in arguments if each.required or each.metavar in _KINDS]
    return [*name.split(), *(GIVEN if each.metavar in _KINDS else "1" for each in given)]


CONFIGURED = {name: words for name in COMMANDS if (words := _words(name))}


@pytest.mark.parametrize("name", [*CONFIGURED, "setup postgres"])
def test_hint_names_the_file_when_a_command_was_given_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = CONFIGURED.get(name, [*name.split(), "postgresql://h/d", "--config", GIVEN])
    assert main(words) != 0
    said = capsys.readouterr()
    assert f"headwater init '{GIVEN}'" in said.out + said.err


def test_commands_that_take_a_configuration_are_found() -> None:
    assert len(CONFIGURED) >= 17


def test_envelope_has_the_hint_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", GIVEN, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["hint"] == f"Write one with: headwater init '{GIVEN}'"


def test_every_problem_of_a_configuration_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(GIVEN).write_text("")
    assert main(["run", GIVEN]) == 2
    assert f"headwater init '{GIVEN}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (
            "remove the table's folder, then: headwater backfill start FILE 'odd name'",
            "remove the table's folder, then: headwater backfill start 'a b.yaml' 'odd name'",
        ),
        (
            "headwater log repair PATH --config FILE",
            "headwater log repair PATH --config 'a b.yaml'",
        ),
        (
            "headwater run FILE, then headwater verify FILE --repair",
            "headwater run 'a b.yaml', then headwater verify 'a b.yaml' --repair",
        ),
        ("sqlite3 FILE 'PRAGMA integrity_check'", "sqlite3 FILE 'PRAGMA integrity_check'"),
        ("headwater checkpoint export LOG FILE", "headwater checkpoint export LOG FILE"),
        ("see FILES", "see FILES"),
    ],
)
def test_only_the_place_of_a_configuration_is_filled(hint: str, shown: str) -> None:
    assert with_config(hint, Path("a b.yaml")) == shown
    assert with_config(hint, None) == hint


def test_fixes_of_the_catalog_that_name_a_configuration_are_filled() -> None:
    other = ("sqlite3 FILE", "LOG FILE", "--golden FILE")
    for entry in CATALOG.values():
        if "FILE" in entry.fix and not any(each in entry.fix for each in other):
            assert "FILE" not in with_config(entry.fix, Path("shop.yaml")), entry.code
        for name in re.findall(r"headwater ((?:[a-z-]+ )+)FILE", entry.fix):
            assert name.strip() in {*CONFIGURED, "init"}, entry.code
