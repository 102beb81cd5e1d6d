"""Every invariant is cited where it is enforced and in a test that proves it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _cited(*folders: str) -> set[str]:
    found: set[str] = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            found |= set(re.findall(r"INV-\d+", path.read_text()))
    return found


@pytest.mark.parametrize("number", range(1, 13))
def test_invariant_is_enforced_in_source_and_proven_in_a_test(number: int) -> None:
    name = f"INV-{number}"
    assert name in _cited("src/headwater")
    assert name in _cited("tests", "src/headwater/testing/conformance")


@pytest.mark.parametrize("number", range(1, 13))
def test_invariant_is_linked_from_the_architecture_page(number: int) -> None:
    assert f"INV-{number} " in (ROOT / "ARCHITECTURE.md").read_text()
