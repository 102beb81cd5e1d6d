from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.deliver import DeadLetters
from headwater.errors import DataError, MachineError
from headwater.testing.builders import inserts

_ERROR = DataError("event-invalid", "too odd", where="table items")


def _put(letters: DeadLetters, *sequences: int) -> list[bool]:
    return [letters.put(inserts(n, 1).with_sequence(n), _ERROR) for n in sequences]


def _sequences(path: Path) -> list[int]:
    return [json.loads(line)["sequence_number"] for line in path.read_text().splitlines()]


def test_dead_letter_says_what_why_and_which_when_put(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "dead.jsonl")
    _put(letters, 7)
    letters.close()
    letter = json.loads(letters.path.read_text())
    assert (letter["code"], letter["reason"], letter["where"]) == (
        "event-invalid",
        "too odd",
        "table items",
    )
    assert letter["event"]["after"] == {"id": 7, "name": "item 7"}
    assert letters.path.stat().st_mode & 0o777 == 0o600


def test_dead_letters_hold_each_event_once_when_delivered_again(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "dead.jsonl")
    assert _put(letters, 3, 5) == [True, True]
    letters.close()
    again = DeadLetters(letters.path)
    assert _put(again, 3, 5, 9) == [False, False, True]
    again.close()
    again.close()
    assert _sequences(letters.path) == [3, 5, 9]


@pytest.mark.parametrize("torn", [1, 20, 150])
def test_dead_letters_cut_the_torn_line_when_opened_after_a_crash(
    tmp_path: Path, torn: int
) -> None:
    letters = DeadLetters(tmp_path / "dead.jsonl")
    _put(letters, 1, 2)
    letters.close()
    data = letters.path.read_bytes()
    letters.path.write_bytes(data[:-torn])
    again = DeadLetters(letters.path)
    assert _put(again, 2) == [True]
    again.close()
    assert _sequences(letters.path) == [1, 2]


def test_dead_letters_are_a_coded_error_when_the_place_cannot_be_written(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "none" / "dead.jsonl")
    with pytest.raises(MachineError) as caught:
        letters.open()
    assert caught.value.code == "dead-letter-file"
