"""The public surface changes on purpose: every change of it shows as a changed snapshot."""

import difflib

import pytest

from tools.api_snapshot import SNAPSHOT, surface


def test_public_surface_is_the_snapshot() -> None:
    kept, now = SNAPSHOT.read_text().splitlines(), surface().splitlines()
    changes = "\n".join(difflib.unified_diff(kept, now, "snapshot", "code", lineterm="", n=1))
    if changes:
        pytest.fail(
            f"the public surface changed:\n{changes}\n\n"
            "If this is meant: python tools/api_snapshot.py --write, and a line in CHANGELOG.md",
            pytrace=False,
        )


def test_every_public_name_of_headwater_can_be_loaded() -> None:
    import headwater

    assert [name for name in headwater.__all__ if not hasattr(headwater, name)] == []


def test_unknown_name_of_headwater_is_an_attribute_error() -> None:
    import headwater

    assert not hasattr(headwater, "captrue")
