"""`headwater testkit replay`: what it prints, writes, and exits with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "replay"
NAME = "postgres_letters.fixture.json"
GOLDEN = "postgres_letters.golden.json"


@pytest.fixture
def fixture(cli: Cli) -> Path:
    return Path(shutil.copy(FIXTURES / NAME, cli.directory))


def test_replay_prints_the_events_when_there_is_no_golden_file(cli: Cli, fixture: Path) -> None:
    done = cli("testkit", "replay", fixture.name)
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    assert lines == json.loads((FIXTURES / GOLDEN).read_bytes())
    assert "no golden file" in done.out


def test_replay_writes_the_golden_file_when_told_to_update(cli: Cli, fixture: Path) -> None:
    assert cli("testkit", "replay", fixture.name, "--update").code == 0
    assert (cli.directory / GOLDEN).read_bytes() == (FIXTURES / GOLDEN).read_bytes()
    done = cli("testkit", "replay", fixture.name)
    assert done.code == 0
    assert f"6 events of postgres_letters are as in {GOLDEN}" in done.out


def test_replay_shows_both_values_and_fails_when_an_event_differs(cli: Cli, fixture: Path) -> None:
    events = json.loads((FIXTURES / GOLDEN).read_bytes())
    events[2]["after"]["subject"] = "Goodbye"
    (cli.directory / "other.json").write_text(json.dumps(events[:5]))
    done = cli("testkit", "replay", fixture.name, "--golden", "other.json")
    assert done.code == 1
    assert "event 2: update of letters, fixture_seq_2" in done.out
    assert 'after.subject\n      \N{MINUS SIGN} "Goodbye"\n      + "Hello again"' in done.out
    assert "event 5: read of __marker__transaction_end" in done.out
    assert "6 events of postgres_letters: 2 differ" in done.out
    assert "--update" in done.out
    told = cli("testkit", "replay", fixture.name, "--golden", "other.json", "--json").json()
    assert not told["ok"]
    assert [each["path"] for each in told["result"]["differences"]] == ["after.subject", ""]


def test_replay_warns_when_a_transaction_does_not_end(cli: Cli) -> None:
    done = cli("testkit", "replay", FIXTURES / "mysql_cut_short.fixture.json")
    assert done.code == 0
    assert "was not committed before end of fixture" in done.out


def test_replay_names_the_place_when_the_fixture_is_wrong(cli: Cli, fixture: Path) -> None:
    document = json.loads(fixture.read_bytes())
    document["messages"][1]["message_type"] = "Insrt"
    fixture.write_text(json.dumps(document))
    done = cli("testkit", "replay", fixture.name)
    assert done.code == 2
    assert f"fixture-invalid  {NAME}: messages[1].message_type" in done.err
    assert "use one of: Begin, Insert" in done.err


def test_replay_refuses_when_a_named_golden_file_is_missing_or_wrong(
    cli: Cli, fixture: Path
) -> None:
    missing = cli("testkit", "replay", fixture.name, "--golden", "gone.json")
    assert missing.code == 3
    assert "file-unreadable" in missing.err
    (cli.directory / "bad.json").write_text("{}")
    wrong = cli("testkit", "replay", fixture.name, "--golden", "bad.json")
    assert wrong.code == 2
    assert "golden-invalid" in wrong.err
