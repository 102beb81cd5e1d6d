"""The public surface as text, so that a change of it shows in review.

`python tools/api_snapshot.py` prints it; `--write` renews tests/architecture/public_api.txt, which
tests/architecture/test_public_api.py compares.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

SNAPSHOT = Path(__file__).resolve().parent.parent / "tests" / "architecture" / "public_api.txt"
_CONSTRUCTORS = ("__init__", "__new__")


class _Plain(str):
    """An annotation that prints as it was written, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def surface() -> str:
    """Every public name with its signature, module by module."""
    import headwater

    lines = [*_section("headwater", headwater, headwater.__all__)]
    for name in (
        "headwater.aio",
        "headwater.formats",
        "headwater.pipelines",
        "headwater.app.spark",
    ):
        lines += _section(name, importlib.import_module(name))
    for module in _test_kit():
        lines += _section(module.__name__, module)
    return "\n".join(lines).rstrip() + "\n"


def _test_kit() -> Iterator[ModuleType]:
    package = importlib.import_module("headwater.testing")
    yield package
    for info in pkgutil.walk_packages(package.__path__, "headwater.testing."):
        yield importlib.import_module(info.name)


def _section(name: str, module: ModuleType, names: list[str] | None = None) -> Iterator[str]:
    chosen = sorted(names if names is not None else _own_names(module))
    if not chosen:
        return
    yield f"[{name}]"
    for each in chosen:
        yield from _described(each, getattr(module, each))
    yield ""


def _own_names(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == module.__name__
        and not isinstance(value, TypeVar)
    ]


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        yield from _class(name, value)
    elif callable(value):
        yield _function(name, value)
    elif isinstance(value, ModuleType):
        yield f"{name}: module"
    else:
        yield f"{name}: {type(value).__name__}"


def _class(name: str, kind: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(kind, enum.Enum):
        yield from (f"  {member.name} = {member.value!r}" for member in kind)
    elif fields := getattr(kind, "model_fields", None):
        yield from (f"  {field}: {_annotation(info.annotation)}" for field, info in fields.items())
        return
    elif any(each in vars(base) for base in _ours(kind) for each in _CONSTRUCTORS):
        yield f"  {name}{_signature(kind)}"
    for member, value in sorted(_members(kind).items()):
        yield f"  {_member(member, value)}"


def _ours(kind: type) -> list[type]:
    return [base for base in kind.__mro__ if base.__module__.startswith("headwater")]


def _members(kind: type) -> dict[str, Any]:
    """Public members of the class and of its ancestors that are ours; the nearest one counts."""
    found: dict[str, Any] = {}
    for base in reversed(_ours(kind)):
        found.update({name: value for name, value in vars(base).items() if name[0] != "_"})
    wanted = (FunctionType, classmethod, staticmethod, property)
    return {name: value for name, value in found.items() if isinstance(value, wanted)}


def _member(name: str, value: Any) -> str:
    match value:
        case property():
            returned = inspect.signature(value.fget).return_annotation if value.fget else "?"
            return f".{name}: {_annotation(returned)}"
        case classmethod():
            return f"classmethod .{name}{_signature(value.__func__)}"
        case staticmethod():
            return f"staticmethod .{name}{_signature(value.__func__)}"
        case _:
            return _function(f".{name}", value)


def _function(name: str, value: Any) -> str:
    awaited = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
    return f"{'async ' if awaited else ''}{name}{_signature(value)}"


def _signature(value: Any) -> str:
    signature = inspect.signature(value)
    parameters = [
        each.replace(annotation=_plain(each.annotation)) for each in signature.parameters.values()
    ]
    plain = signature.replace(
        parameters=parameters, return_annotation=_plain(signature.return_annotation)
    )
    # A default that is an object without a text form of its own prints its address.
    return re.sub(r" at 0x[0-9a-f]+", "", str(plain))


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the snapshot")
    if parser.parse_args().write:
        SNAPSHOT.write_text(surface())
        print(f"wrote {SNAPSHOT}")
    else:
        print(surface(), end="")


if __name__ == "__main__":
    main()
