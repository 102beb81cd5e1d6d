"""Every setting of the YAML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tools.reference.markdown import table, unwrapped

if TYPE_CHECKING:
    from headwater.app.config.section import Section


def configuration() -> Iterator[str]:
    from headwater.app.config import config_schema

    schema = config_schema()
    yield "# Configuration"
    yield ""
    yield "Every setting of the YAML file. Unknown settings are errors."
    yield "`headwater validate --schema` prints the JSON Schema, for editors;"
    yield "the [guide](../guide/configuration.md) has an example."
    yield from _settings("", schema, schema["$defs"])


def _settings(path: str, section: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    required = set(section.get("required", ()))
    plain, nested = [], []
    for name, setting in section["properties"].items():
        inner, suffix = _section_of(setting, known)
        if inner is None:
            plain.append((name, setting))
        else:
            nested.append((f"{path}{name}{suffix}", inner))
    yield from ("", f"## `{path.rstrip('.')}`" if path else "## Top level", "")
    yield unwrapped(section.get("description", ""))
    if plain:
        yield ""
        yield from table(
            ("setting", "value", "default", "meaning"),
            (
                (
                    f"`{path}{name}`",
                    _values(setting, known),
                    "required" if name in required else _default(section["title"], name),
                    setting.get("description", ""),
                )
                for name, setting in plain
            ),
        )
    for name, inner in nested:
        yield from _settings(f"{name}.", inner, known)


def _section_of(
    setting: Mapping[str, Any], known: Mapping[str, Any]
) -> tuple[Mapping[str, Any] | None, str]:
    """The settings below this one, if it is a section, and `[]` if there may be several."""
    for option in (setting, *setting.get("anyOf", ())):
        resolved = _resolved(option, known)
        if "properties" in resolved:
            return resolved, ""
        items = _resolved(option.get("items", {}), known)
        if "properties" in items:
            return items, "[]"
    return None, ""


def _resolved(setting: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = setting.get("$ref", "")
    found: Mapping[str, Any] = known[reference.rpartition("/")[2]] if reference else setting
    return found


def _values(setting: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    setting = _resolved(setting, known)
    if "anyOf" in setting:
        options = [_values(option, known) for option in setting["anyOf"]]
        return " or ".join(text for text in options if text != "null")
    if "const" in setting:
        return f"`{setting['const']}`"
    if "enum" in setting:
        return ", ".join(f"`{value}`" for value in setting["enum"])
    if setting.get("type") == "array":
        return f"list of {_values(setting.get('items', {}), known)}"
    if examples := setting.get("examples"):
        return "such as " + ", ".join(f"`{value}`" for value in examples)
    return str(setting.get("type", "text"))


def _default(section: str, name: str) -> str:
    """The default as it would be written in the file; the section's model has it, typed."""
    from headwater.app.config.section import Section

    value = _models(Section)[section].model_fields[name].default
    if value is None or value == ():
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"`{text.lower() if isinstance(value, bool) else text}`"


def _models(base: type[Section]) -> dict[str, type[Section]]:
    """Every kind of section by its name."""
    below = (_models(each) for each in base.__subclasses__())
    return {base.__name__: base} | {name: each for found in below for name, each in found.items()}
