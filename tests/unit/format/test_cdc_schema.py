"""The published JSON Schema, with an independent validator: examples, our output, and its teeth."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from headwater.format.cdcformat.json import CdcFormat
from headwater.format.cdcformat.schema import json_schema
from tests.property.format import records
from tests.unit.format.cdc_examples import EVENTS, EXAMPLES

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
SECTIONS = {
    "3.1": ("source", "source"),
    "3.3": (None, "source"),
    "4.1": ("entity", "entity"),
    "4.3": ("entity", "entity"),
    "5.1": ("operation", "operation"),
    "5.2": ("operation", "operation"),
    "5.3": ("operation", "operation"),
    "5.4": ("operation", "operation"),
    "6.1": ("cascade", "cascade"),
    "6.2.1": (None, "cascade"),
    "6.2.2": (None, "cascade"),
    "6.2.3": (None, "cascade"),
    "7.1": ("metadata", "metadata"),
}


def test_schema_is_one_of_its_draft() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("event", EVENTS, ids=["8.1", "8.2", "8.3"])
def test_example_passes_when_it_is_a_whole_event(event: dict[str, Any]) -> None:
    VALIDATOR.validate(event)


@pytest.mark.parametrize("number", SECTIONS)
def test_example_passes_when_it_is_a_section(number: str) -> None:
    """Sections are printed in part, so that only what they have is judged."""
    member, name = SECTIONS[number]
    part = {**SCHEMA["$defs"][name], "required": [], "$defs": SCHEMA["$defs"]}
    for example in EXAMPLES[number]:
        Draft202012Validator(part).validate(example[member] if member else example)


def test_example_passes_when_its_sections_are_filled_in() -> None:
    for example in EXAMPLES["2.1"]:
        whole = EVENTS[0]
        filled = {name: whole[name] for name in ("operation", "cascade", "metadata")}
        VALIDATOR.validate(example | filled)


def test_examples_are_all_of_the_specification() -> None:
    assert set(EXAMPLES) == {"2.1", *SECTIONS, "8.1", "8.2", "8.3"}


def test_output_passes_when_events_are_any() -> None:
    batch = records.batch(random.Random("schema"), 2000, records.ROWS)
    for record in CdcFormat().encode(batch):
        VALIDATOR.validate(json.loads(record))


@pytest.mark.parametrize("member", SCHEMA["required"])
def test_event_is_refused_when_a_section_is_missing(member: str) -> None:
    broken = {name: value for name, value in EVENTS[0].items() if name != member}
    assert not VALIDATOR.is_valid(broken)


@pytest.mark.parametrize(
    "change",
    [
        {"version": "1.1"},
        {"event_id": "evt_1"},
        {"event_type": "entity:noop"},
        {"timestamp": "yesterday"},
        {"sequence_number": 1.5},
        {"operation": {"type": "TRUNCATE"}},
        {"operation": EVENTS[0]["operation"] | {"after": None}},
        {"operation": EVENTS[0]["operation"] | {"trigger": "API"}},
        {"cascade": {}},
        {"source": {}},
    ],
)
def test_event_is_refused_when_a_member_is_wrong(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(EVENTS[0] | change)
