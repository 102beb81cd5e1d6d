"""A server's URL from its parts, so that a password can come from a place of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from headwater.app.server_url import SCHEME
from headwater.app.url import SourceUrl
from headwater.secret import Secret

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def composed_url(parts: Mapping[str, object]) -> SourceUrl:
    """The URL of these settings; ValueError says which part is missing."""
    if not parts:
        raise ValueError("name the database: url, or host, user, password and database")
    for needed in ("host", "database"):
        if needed not in parts:
            raise ValueError(f"without a url, {needed} is needed")
    user = _text(parts.get("user", ""))
    password = f":{_text(parts['password'])}" if "password" in parts else ""
    login = f"{user}{password}@" if user or password else ""
    query = {name: value for name, value in parts.items() if name.startswith("ssl")}
    host = str(parts["host"])
    if not _NAME.fullmatch(host):  # a socket's directory, or an address with colons
        query["host"], host = host, ""
    port = f":{parts['port']}" if "port" in parts else ""
    given = "&".join(f"{name}={_text(value)}" for name, value in query.items())
    database = _text(parts["database"])
    return SourceUrl.parse(f"{SCHEME}://{login}{host}{port}/{database}?{given}".rstrip("?"))


def _text(value: object) -> str:
    match value:
        case Secret():
            return quote(value.reveal(), safe="")
        case Path():
            return quote(str(value), safe="/")
        case _:
            return quote(str(value), safe="")
