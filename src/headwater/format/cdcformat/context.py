"""An application's context in the sections of the format: trigger, session, user, metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from headwater.format.jsontext import dumps, loads

DEFAULT_TRIGGER = "admin_action"  # the format's word for SQL that no application vouched for
_METADATA = ("request_id", "user_id", "user_roles", "ip_address", "user_agent", "api_version")
_LISTS = ("user_roles",)
_TRIGGER = re.compile("[a-z_]+")
_SOURCE = ("session_id", "user")
_OURS = "headwater"


@dataclass(frozen=True, slots=True)
class Context:
    """The pieces of a record that come from one context, as JSON text."""

    trigger: str
    source: str
    metadata: str
    custom_fields: str


def read_context(text: str | None) -> Context:
    """The pieces of a context; without one, a change is an administrator's."""
    if text is None:
        return _NONE
    said = loads(text)
    if "roles" in said:
        said.setdefault("user_roles", said.pop("roles"))
    trigger = said.pop("trigger") if _belongs("trigger", said.get("trigger")) else None
    source = _members(said, _SOURCE)
    metadata = _members(said, _METADATA)
    custom = said.pop("custom_fields", None)
    custom = {**said, **custom} if isinstance(custom, dict) else said
    custom.pop(_OURS, None)
    return Context(
        trigger=dumps(trigger or DEFAULT_TRIGGER),
        source=source,
        metadata=metadata,
        custom_fields="".join(f",{encode_basestring(n)}:{dumps(v)}" for n, v in custom.items()),
    )


def _members(said: dict[str, Any], names: tuple[str, ...]) -> str:
    """Members behind others, each with its comma."""
    return "".join(
        f',"{name}":{dumps(_as_text(said.pop(name)))}'
        for name in names
        if _belongs(name, said.get(name))
    )


def _as_text(value: Any) -> Any:
    """The format's ids are strings; an application's may be numbers."""
    return repr(value) if type(value) is int else value


def _belongs(name: str, value: Any) -> bool:
    """Whether the format's own field takes the value; any other is a custom field."""
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name == "trigger":
        return isinstance(value, str) and _TRIGGER.fullmatch(value) is not None
    return isinstance(value, str) or type(value) is int


_NONE = Context(dumps(DEFAULT_TRIGGER), "", "", "")
