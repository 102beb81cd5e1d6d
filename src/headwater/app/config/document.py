"""A YAML file as plain values plus the line of every one of them.

Only the part of YAML that a configuration needs: one document, mappings with text keys, lists and
scalars of the JSON kinds. So `no`, `on` and `12:30` are the text they look like, a duplicate key is
an error instead of a silent winner, tags run nothing, and aliases cannot blow the file up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from headwater.app.config.problem import ConfigPath, Problem
from headwater.errors import ConfigError

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_MAX_NODES = 10_000
_MAX_DEPTH = 40

Resolver = Callable[[str], str]


class _Unresolved:
    """Stands for a value whose reference could not be resolved; the problem is on record."""


UNRESOLVED = _Unresolved()


@dataclass(slots=True)
class Document:
    """The values, where each stands, and what was wrong with them so far."""

    values: Any = None
    lines: dict[ConfigPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, path: ConfigPath) -> int:
        """The line of the setting, or of the nearest one around it."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_document(text: str, file: Path, resolve: Resolver) -> Document:
    """Parse the text; scalars that hold references go through `resolve`."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = mark.line + 1 if mark else 1
        lines = text.splitlines()
        flow = mark is not None and mark.line < len(lines) and "${" in lines[mark.line]
        raise ConfigError(
            "config-syntax",
            exc.problem or "the YAML cannot be read",
            where=f"{file}:{line}",
            hint='inside { } or [ ], put the reference in quotes: "${NAME}"' if flow else "",
        ) from exc
    except (yaml.YAMLError, ValueError) as exc:
        raise ConfigError("config-syntax", "the file is not YAML text", where=str(file)) from exc
    reader = _Reader(file, resolve)
    if root is not None:
        reader.document.values = reader.value(root, ())
    return reader.document


class _Reader:
    """Walks the node tree once."""

    def __init__(self, file: Path, resolve: Resolver) -> None:
        self.document = Document()
        self._file = file
        self._resolve = resolve
        self._seen = 0

    def value(self, node: yaml.Node, path: ConfigPath) -> Any:
        self._seen += 1
        if self._seen > _MAX_NODES or len(path) > _MAX_DEPTH:
            raise ConfigError(
                "config-syntax",
                "the file is too large or nested too deeply; do aliases refer to themselves?",
                where=f"{self._file}:{node.start_mark.line + 1}",
            )
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: ConfigPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.tag)
            inner = (*path, key)
            line = key_node.start_mark.line + 1
            if key in result:
                first = self.document.lines[inner]
                self._problem(line, inner, f"the key appears twice; it is first on line {first}")
                continue
            self.document.lines[inner] = line
            result[key] = self.value(value_node, inner)
        return result

    def _scalar(self, node: yaml.Node, path: ConfigPath) -> Any:
        line = node.start_mark.line + 1
        if not node.tag.startswith("tag:yaml.org,2002:") or "python" in node.tag:
            self._problem(line, path, f"the tag {node.tag} is not allowed here")
            return UNRESOLVED
        raw = str(node.value)
        try:
            text = self._resolve(raw)
        except ConfigError as exc:
            found = Problem(exc.code, self._file, line, path, exc.message, exc.hint)
            self.document.problems.append(found)
            return UNRESOLVED
        plain = isinstance(node, yaml.ScalarNode) and node.style is None
        return _plain(raw) if plain and text == raw and type(text) is str else text

    def _problem(self, line: int, path: ConfigPath, reason: str) -> None:
        self.document.problems.append(Problem("config-invalid", self._file, line, path, reason))


def _plain(text: str) -> Any:
    """The JSON kind that an unquoted scalar looks like."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 20 else text
    return float(text) if _FLOAT.fullmatch(text) else text
