"""The law that nothing is lost by, and text that is exact."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.format.delta import diff, is_delta, patch, same
from headwater.format.jsontext import MAX_DEPTH, canonical, dumps, loads, loads_all
from headwater.format.stash import Site
from headwater.testing.strategies import json_values

objects = st.dictionaries(st.sampled_from(["a", "b", "", "=", "+", "-", "~"]), json_values())
DELTAS = st.dictionaries(st.sampled_from(["debezium", "opencdc"]), st.just({"+": {"a": 1}}))


def exact(value: Any) -> Any:
    return loads(json.dumps(value))


@settings(deadline=None)
@given(base=json_values() | objects, value=json_values() | objects)
def test_patch_gives_the_value_back_when_the_delta_was_its(base: Any, value: Any) -> None:
    base, value = exact(base), exact(value)
    delta = diff(base, value)
    assert (delta is None) == same(base, value) == (canonical(base) == canonical(value))
    if delta is not None:
        assert is_delta(exact_text(delta))
        assert same(patch(base, exact_text(delta)), value)


def exact_text(delta: Any) -> Any:
    return loads(dumps(delta))


@settings(deadline=None)
@given(value=json_values())
def test_text_is_the_standard_librarys_when_a_value_is_written(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert dumps(loads(text)) == text
    assert loads_all([text, text]) == [loads(text)] * 2


@pytest.mark.parametrize("text", ["1.10", "1e5", "0.1234567890123456789012345", "-0.0", "1E400"])
def test_number_keeps_its_text_when_a_float_would_change_it(text: str) -> None:
    assert dumps(loads(f'{{"a":[{text}]}}')) == f'{{"a":[{text}]}}'
    assert not same(loads(text), loads("1"))


@pytest.mark.parametrize("text", ["NaN", "{} x", "", "[1", '"\\ud800"', "[" * 5000, "9" * 5000])
def test_text_is_refused_when_it_is_not_json_that_a_carrier_can_hold(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_text_is_refused_when_it_is_nested_deeper_than_the_limit() -> None:
    loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(ValueError, match="deep"):
        loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


@settings(deadline=None)
@given(
    site=st.sampled_from([Site(("a", "b", "x")), Site(("a", "x"), as_text=True), Site(("x",))]),
    record=st.dictionaries(st.sampled_from("abc"), json_values() | objects),
    said=DELTAS,
)
def test_site_gives_the_record_back_when_something_was_put_there(
    site: Site, record: dict[str, Any], said: dict[str, Any]
) -> None:
    record = exact(record)
    before = canonical(record)
    if said:
        site.put(record, said)
        record = loads(dumps(record))
        assert site.take(record) == said
    assert canonical(record) == before
    assert site.take(record) == {}
