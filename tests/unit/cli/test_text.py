"""Row data cannot command the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.cli.text import printable, shortened

HOSTILE = st.text(
    st.sampled_from("\x1b\x9b\x07\n\r\t\x00\x7f\x85\u202e\u2066\u200b\u2028\ufeff\U000e0041a[;m]é"),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Björn ☕ 東京", "Björn ☕ 東京"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("\x9b2J", "\\x9b2J"),
        ("lone \ud800", "lone \\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_printable_spells_out_what_is_hidden_when_row_data_has_it(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text() | HOSTILE)
def test_printable_leaves_no_control_or_direction_mark_when_text_is_anything(text: str) -> None:
    shown = printable(text)
    assert {unicodedata.category(char) for char in shown}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert not {unicodedata.bidirectional(char) for char in shown} & {
        *("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
    }
    shown.encode()


@given(st.text(max_size=50), st.integers(1, 60))
def test_shortened_never_exceeds_its_width_when_text_is_long(text: str, width: int) -> None:
    assert len(shortened(text, width)) <= width
