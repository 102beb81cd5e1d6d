"""The shape of the code: frozen vocabulary, rooms that describe themselves, files one can read."""

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import headwater.contract
import headwater.event

SOURCE = Path(headwater.event.__path__[0]).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


def _classes(package: object) -> list[type]:
    found = []
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):  # type: ignore[attr-defined]
        module = importlib.import_module(info.name)
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
    return found


@pytest.mark.parametrize("package", [headwater.event, headwater.contract])
def test_values_are_frozen_and_have_slots(package: object) -> None:
    for kind in _classes(package):
        if dataclasses.is_dataclass(kind):
            assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
            assert hasattr(kind, "__slots__"), kind


def test_promises_are_small() -> None:
    for kind in _classes(headwater.contract):
        if getattr(kind, "_is_protocol", False):
            own = [name for name in vars(kind) if not name.startswith("_")]
            assert len(own) <= 6, kind


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_a_map_in_its_docstring(room: str) -> None:
    text = (SOURCE / room / "__init__.py").read_text()
    docstring = text.split('"""')[1]
    assert re.search(r"May import: .+", docstring), f"{room} does not say what it may import"


def test_every_source_and_sink_states_its_delivery() -> None:
    for room in ("source", "sink"):
        assert "Delivery:" in "".join(path.read_text() for path in (SOURCE / room).rglob("*.py"))
