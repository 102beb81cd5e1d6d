"""The messages of a .proto text, by name and by path: no more of the language than that."""

from __future__ import annotations

import re

# Comments and strings first, so that a word or brace inside them is none.
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    r"|\bpackage\s+(?P<package>[\w.]+)\s*;|\bmessage\s+(?P<message>\w+)\s*\{|(?P<brace>[{}])",
    re.DOTALL,
)

Path = tuple[int, ...]


def messages(text: str) -> dict[Path, str]:
    """The full name of each message by its path: (3,) is the fourth, (3, 0) the first inside it."""
    package = ""
    found: dict[Path, str] = {}
    open_blocks: list[tuple[Path, str] | None] = []  # None for a block that is no message
    counts: dict[Path, int] = {}
    for token in _TOKEN.finditer(text):
        if token["package"]:
            package = token["package"]
        elif token["message"]:
            parent = next((block for block in reversed(open_blocks) if block), ((), package))
            index = counts.get(parent[0], 0)
            counts[parent[0]] = index + 1
            path, name = (*parent[0], index), f"{parent[1]}.{token['message']}".lstrip(".")
            found[path] = name
            open_blocks.append((path, name))
        elif token["brace"] == "{":
            open_blocks.append(None)
        elif token["brace"] == "}" and open_blocks:
            open_blocks.pop()
    return found


def path_of(text: str, name: str) -> Path:
    """The path of a message. LookupError if the text has none of that name."""
    for path, each in messages(text).items():
        if each == name:
            return path
    raise LookupError(name)
