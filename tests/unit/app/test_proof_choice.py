"""Which tables a proof is of, and what is said when there is none."""

from __future__ import annotations

import pytest

from headwater.app.proof.choice import comparable
from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.spark.modes import Modes

ORDERS, ITEMS, NOTES, EXTRA = (
    TableId("public", name) for name in ("orders", "items", "notes", "extra")
)
EVERY = (ORDERS, ITEMS, NOTES, EXTRA)
KNOWN = (ORDERS, ITEMS, NOTES)
MODES = Modes(chosen={"append_log": ["notes"]}, tables=("orders", "notes"))


def _matched(*asked: str) -> tuple[TableId, ...]:
    return tuple(table for table in EVERY if table.matches(asked))


@pytest.mark.parametrize("asked", [("*",), ("orders",), ("o*", "public.*")])
def test_choice_leaves_out_what_cannot_be_compared_when_a_glob_matches_more(
    asked: tuple[str, ...],
) -> None:
    assert comparable(asked, _matched(*asked), KNOWN, MODES) == (ORDERS,)


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ("extra", "table-unknown", "the log knows no table that matches 'extra'"),
        ("ex*", "table-unknown", "the log knows no table"),
        ("items", "verify-no-target", "Spark keeps no table"),
        ("notes", "verify-no-target", "append logs"),
        ("secret", "table-unknown", "source.exclude"),
    ],
)
def test_choice_refuses_when_a_name_comes_to_nothing(asked: str, code: str, words: str) -> None:
    for names in (asked,), ("orders", asked):
        with pytest.raises(ConfigError, match=words) as caught:
            comparable(names, _matched(*names), KNOWN, MODES)
        assert caught.value.code == code


def test_choice_refuses_when_no_table_is_named() -> None:
    with pytest.raises(ConfigError, match="no table is named"):
        comparable((), (), KNOWN, MODES)
