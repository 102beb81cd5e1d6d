"""Redaction: secrets by their value, URLs by their shape (INV-12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from headwater.secret import MASK, Secret, live_secrets

_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://)[^/?#\s\"']*@")


class Redactor:
    """Replaces every live secret, in plain, URL-quoted and JSON-escaped form, and URL userinfo.

    It asks for the live secrets on every call: one that was resolved a moment ago is known.
    """

    def text(self, text: str) -> str:
        """The text without secrets."""
        for form in _forms(live_secrets()):
            text = text.replace(form, MASK)
        return _USERINFO.sub(rf"\1{MASK}@", text)

    def value(self, value: Any) -> Any:
        """The same for a structure of any depth; a number that spells a secret becomes text."""
        match value:
            case None | bool():
                return value
            case str():
                return self.text(value)
            case Mapping():
                return {self.text(str(name)): self.value(item) for name, item in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.value(item) for item in value]
            case _:
                plain = str(value)
                clean = self.text(plain)
                return value if clean == plain and isinstance(value, (int, float)) else clean


def _forms(secrets: Iterable[Secret]) -> list[str]:
    forms: set[str] = set()
    for secret in secrets:
        plain = secret.reveal()
        forms |= {
            plain,
            quote(plain, safe=""),
            quote_plus(plain),
            json.dumps(plain)[1:-1],
            repr(plain)[1:-1],
        }
    forms.discard("")
    return sorted(forms, key=len, reverse=True)  # a secret inside another must not expose the rest
