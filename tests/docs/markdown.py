"""Markdown as the tests see it: fenced blocks with what was said about them, and links."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>```+)(?P<info>.*)$")
_COMMENT = re.compile(r"^ *<!-- *(?P<text>.+?) *-->$")
_TITLE = re.compile(r'title="([^"]+)"')
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `line` is the line of its first content; `note` the comment above it."""

    path: Path
    line: int
    language: str
    title: str | None
    note: str
    text: str

    @property
    def where(self) -> str:
        """File and line, as an editor understands it."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"

    @property
    def needs_spark(self) -> bool:
        """Whether it runs under the spark marker only."""
        return self.note == "spark"

    @property
    def reason_not_to_run(self) -> str | None:
        """The author's reason, or None if the block runs."""
        found = re.fullmatch(r"no-run: *(.+)", self.note)
        return found[1] if found else None

    def commands(self) -> list[str]:
        """The lines that call headwater; a prompt before them is allowed."""
        joined = self.text.replace("\\\n", " ")
        lines = (line.strip().removeprefix("$ ") for line in joined.splitlines())
        return [line for line in lines if line.startswith("headwater ")]


def pages() -> list[Path]:
    """The pages whose blocks are run."""
    guide = sorted((ROOT / "docs" / "guide").glob("*.md"))
    return [ROOT / "README.md", ROOT / "docs" / "index.md", *guide]


def blocks(path: Path) -> list[Block]:
    """Every fenced block of a file, in order."""
    return list(_blocks(path, path.read_text().splitlines()))


def _blocks(path: Path, lines: list[str]) -> Iterator[Block]:
    note, number = "", 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        comment = _COMMENT.match(lines[number])
        number += 1
        if comment:
            note = comment["text"]
        elif opening:
            start = number
            while number < len(lines) and lines[number].strip() != opening["marks"]:
                number += 1
            text = textwrap.dedent("\n".join(lines[start:number]))
            language = opening["info"].strip().split(" ")[0]
            title = _TITLE.search(opening["info"])
            named = title[1] if title else None
            yield Block(path, start + 1, language, named, note, text + "\n")
            note, number = "", number + 1
        elif lines[number - 1].strip():
            note = ""


def links(path: Path) -> list[tuple[int, str]]:
    """Line and target of every link outside fenced blocks that stays inside the project."""
    found: list[tuple[int, str]] = []
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            found += [(number, target) for target in _LINK.findall(line)]
    return [(number, target) for number, target in found if not re.match(r"[a-z]+:", target)]


def anchors(path: Path) -> set[str]:
    """The anchors that headings make."""
    titles = re.findall(r"^#+ +(.+)$", path.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {re.sub(r"[ ]+", "-", title.strip()) for title in plain}
