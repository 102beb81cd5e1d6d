"""A registry asked without our client, and formats behind it."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from headwater import formats
from headwater.contract import MessageFormat
from headwater.format.registry.client import SchemaRegistry


def ask(url: str, body: Any = None, method: str = "GET") -> Any:
    """What the registry answers."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request) as reply:
        return json.load(reply)


def registered(name: str, url: str, topic: str, **more: Any) -> MessageFormat:
    """A format behind the registry, with a client of its own."""
    registry = SchemaRegistry(url)
    form: Any = formats.get(name, registry=registry, subjects=formats.Subjects(topic), **more)
    return form  # type: ignore[no-any-return]
