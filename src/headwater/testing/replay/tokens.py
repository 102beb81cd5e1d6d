"""Words of an SQL statement: names, quoted in any of three ways, texts, marks. No grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_SCAN = re.compile(
    r"""
    (?P<space> (?: \s | --[^\n]* | /\*.*?\*/ )+ )
  | (?P<quoted> "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[(?:[^\]]|\]\])*\] )
  | (?P<literal> '(?:[^']|'')*' )
  | (?P<word> [^\s"`'\[\](),.;=]+ )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement. `spaced` tells whether space stood before it."""

    kind: str
    text: str
    spaced: bool = False

    def says(self, *words: str) -> bool:
        """Whether it is one of these words, unquoted."""
        return self.kind == "word" and self.text.upper() in words

    def is_mark(self, mark: str) -> bool:
        """Whether it is this mark."""
        return self.kind == "mark" and self.text == mark

    @property
    def name(self) -> str:
        """The name that it writes, without quotes, in small letters."""
        if self.kind != "quoted":
            return self.text.lower()
        closer = self.text[-1]
        return self.text[1:-1].replace(closer * 2, closer).lower()


def scan(statement: str) -> list[Token]:
    """The pieces of a statement, without space and comments, up to its semicolon."""
    tokens: list[Token] = []
    spaced = False
    for found in _SCAN.finditer(statement):
        kind, text = str(found.lastgroup), found[0]
        if kind == "mark" and text == ";":
            break
        if kind != "space":
            tokens.append(Token(kind, text, spaced))
        spaced = kind == "space"
    return tokens


def split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """The parts between commas that stand outside parentheses."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and token.is_mark(","):
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def spelled(tokens: Iterable[Token]) -> str:
    """The pieces as one line in capitals, texts and quoted names as they were."""
    said = ""
    for token in tokens:
        text = token.text if token.kind in {"quoted", "literal"} else token.text.upper()
        said += f" {text}" if token.spaced and said else text
    return said
