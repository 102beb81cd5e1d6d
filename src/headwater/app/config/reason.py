"""pydantic's errors in the words of someone who edits a YAML file.

Values are described by kind, never shown, unless the user wrote them into the file himself: what
came through `${…}` may be a secret (INV-12).
"""

from __future__ import annotations

from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from headwater.app.config.interpolate import Interpolated
from headwater.app.config.problem import ConfigPath
from headwater.app.suggest import closest

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list, such as [orders, customers]",
    "dict_type": "a section with settings of its own",
    "model_type": "a section with settings of its own",
    "model_attributes_type": "a section with settings of its own",
}
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true/false"),
    (int, "a number"),
    (float, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a section"),
    (type(None), "nothing"),
)


def config_path(location: tuple[str | int, ...], values: Any) -> ConfigPath:
    """The error's place in the file: pydantic's location without the names of union members."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        inside, known = _step(values, part)
        last = index == len(location) - 1
        if known or (last and isinstance(values, dict)):
            path.append(part)
            values = inside
    return tuple(path)


def _step(values: Any, part: str | int) -> tuple[Any, bool]:
    if isinstance(values, dict) and part in values:
        return values[part], True
    if isinstance(values, list) and isinstance(part, int) and part < len(values):
        return values[part], True
    return values, False


def explain_error(error: ErrorDetails, root: type[BaseModel], path: ConfigPath) -> tuple[str, str]:
    """The reason and the suggestion for one error."""
    kind, given = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(error["loc"][-1]), _model_at(root, path[:-1]))
    if kind == "missing":
        return "this setting is required", ""
    if kind in {"literal_error", "enum"}:
        return _not_one_of(given, str(context.get("expected", "")))
    if kind == "misfit":
        return error["msg"], str(context["suggestion"])
    if kind == "value_error":
        return str(context["error"]), ""
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {kind_of(given)}", ""
    message = error["msg"]
    return message[:1].lower() + message[1:], ""


def kind_of(value: Any) -> str:
    """What a value is, without the value."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "something else")


def _unknown(key: str, model: type[BaseModel] | None) -> tuple[str, str]:
    known = list(_settings(model))
    near = closest(key, known)
    suggestion = f"did you mean {near}?" if near else f"settings here: {', '.join(known)}"
    return "unknown setting", suggestion


def _not_one_of(given: Any, expected: str) -> tuple[str, str]:
    allowed = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    shown = "this value" if isinstance(given, Interpolated) else repr(given)
    near = closest(given, allowed) if isinstance(given, str) else None
    reason = f"{shown} is not one of: {', '.join(allowed)}"
    return reason, f"did you mean {near}?" if near else ""


def _model_at(root: type[BaseModel], path: ConfigPath) -> type[BaseModel] | None:
    """The section that stands at a path."""
    annotation: Any = root
    for part in path:
        if isinstance(part, int):
            continue
        model = _section_of(annotation)
        field = _settings(model).get(part)
        if field is None:
            return None
        annotation = field.annotation
    return _section_of(annotation)


def _settings(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """The settings of a section by the names that the file has for them."""
    fields = model.model_fields if model else {}
    return {field.alias or name: field for name, field in fields.items()}


def _section_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Union, UnionType, tuple}:
        found = (_section_of(argument) for argument in get_args(annotation))
        return next((model for model in found if model), None)
    return None
