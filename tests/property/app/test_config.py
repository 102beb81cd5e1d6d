"""Properties of interpolation, durations and sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headwater.app.config import Duration, InvalidConfigError, Size, interpolate, parse_config
from headwater.errors import ConfigError

HERE = Path()
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUES = st.text(min_size=1)


@given(st.text())
def test_interpolation_is_the_identity_when_dollars_are_escaped(text: str) -> None:
    assert interpolate(text.replace("$", "$$"), {}, HERE) == text


@given(st.text().filter(lambda text: "$" not in text))
def test_interpolation_leaves_text_alone_when_there_is_no_dollar(text: str) -> None:
    assert interpolate(text, {}, HERE) is text


@given(NAMES, VALUES, VALUES)
def test_interpolation_uses_the_value_once_when_it_looks_like_a_reference(
    name: str, value: str, around: str
) -> None:
    around = around.replace("$", "$$")
    plain = around.replace("$$", "$")
    text = f"{around}${{{name}}}{around}"
    assert interpolate(text, {name: value}, HERE) == f"{plain}{value}{plain}"


@given(NAMES, st.sampled_from([{}, {"set": ""}]))
def test_interpolation_never_gives_empty_text_when_a_variable_is_unset_or_empty(
    name: str, shape: dict[str, str]
) -> None:
    environment = dict.fromkeys([name] * len(shape), "")
    with pytest.raises(ConfigError) as caught:
        interpolate(f"${{{name}}}", environment, HERE)
    assert caught.value.code == "config-variable"


@given(NAMES, st.text().filter(lambda text: not set(text) & set("{}")))
def test_interpolation_uses_the_default_when_a_variable_is_unset(name: str, default: str) -> None:
    assert interpolate(f"${{{name}:-{default}}}", {}, HERE) == default


@given(st.integers(0, 10**15))
def test_duration_text_reads_back_when_printed(milliseconds: int) -> None:
    assert Duration.parse(str(Duration(milliseconds))) == Duration(milliseconds)


@given(st.integers(0, 10**17))
def test_size_text_reads_back_when_printed(count: int) -> None:
    assert Size.parse(str(Size(count))) == Size(count)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_KEYS = st.sampled_from(["version", "source", "url", "log", "path", "sinks", "name", "x"])
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


def _outcome(text: str) -> ConfigError | None:
    try:
        parse_config(text, environment={})
    except ConfigError as exc:
        return exc
    return None


@given(_TREES)
def test_config_gives_settings_or_coded_errors_when_the_file_is_anything(tree: object) -> None:
    error = _outcome(yaml.safe_dump(tree, allow_unicode=True))
    if isinstance(error, InvalidConfigError):
        assert error.problems
        assert all(problem.line >= 1 for problem in error.problems)
    else:
        assert error is None or error.code == "config-syntax"
