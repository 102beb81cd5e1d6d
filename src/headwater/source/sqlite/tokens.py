"""Just enough SQL reading: the texts that SQLite keeps but no PRAGMA takes apart.

Expressions of an index, its WHERE clause, the timing of a trigger and the columns that one of our
triggers names today exist only as text in the schema table. SQLite has accepted that text already,
so this reader never has to judge it; it only has to know where tokens and parentheses end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headwater.source.sqlite.identifiers import fold

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | --[^\n]* | /\*.*?(?:\*/|\Z))
  | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\])
  | (?P<text>[xX]?'(?:[^']|'')*')
  | (?P<word>[^\W\d][\w$]* | [0-9.][\w.]*)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token, where it stands, and whether it is an unquoted word."""

    text: str
    start: int
    end: int
    kind: str

    def is_word(self, *words: str) -> bool:
        """Whether this is one of these unquoted keywords."""
        return self.kind == "word" and fold(self.text) in words

    def name(self) -> str:
        """The identifier that this token spells."""
        if self.kind != "quoted":
            return self.text
        inner = self.text[1:-1]
        return inner if self.text[0] == "[" else inner.replace(self.text[0] * 2, self.text[0])


def tokens(sql: str) -> Iterator[Token]:
    """The tokens of a statement, without space and comments."""
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "mark"
        if kind != "space":
            yield Token(match.group(), match.start(), match.end(), kind)


@dataclass(frozen=True, slots=True)
class IndexText:
    """The indexed terms of a CREATE INDEX as text, and its WHERE clause if it is partial."""

    terms: tuple[str, ...]
    where: str | None


def index_text(sql: str) -> IndexText:
    """Take a CREATE INDEX statement apart. Term texts come without ASC and DESC."""
    stream = list(tokens(sql))
    start = next(i for i, token in enumerate(stream) if token.is_word("on"))
    opening = next(i for i in range(start, len(stream)) if stream[i].text == "(")
    terms: list[str] = []
    depth = 0
    first = opening + 1
    for i in range(opening, len(stream)):
        text = stream[i].text
        depth += (text == "(") - (text == ")")
        if depth == 0 or (depth == 1 and text == ","):
            last = i - 2 if stream[i - 1].is_word("asc", "desc") else i - 1
            terms.append(sql[stream[first].start : stream[last].end])
            first = i + 1
        if depth == 0:
            break
    rest = stream[first:]
    where = sql[rest[1].start : rest[-1].end] if rest and rest[0].is_word("where") else None
    return IndexText(tuple(terms), where)


def trigger_is_after(sql: str) -> bool:
    """Whether a trigger fires after the row change (without a word, SQLite means before)."""
    stream = list(tokens(sql))
    at = next(i for i, token in enumerate(stream) if token.is_word("trigger")) + 1
    if stream[at].is_word("if") and stream[at + 1].is_word("not"):
        at += 3
    at += 3 if stream[at + 1].text == "." else 1
    return stream[at].is_word("after")


def new_columns(sql: str) -> tuple[str, ...]:
    """The columns that a statement names as NEW.column, in order of appearance.

    SQLite rewrites the triggers when a column is renamed, so this is the truth about what an
    installed trigger captures today, whatever the names were when it was made.
    """
    stream = list(tokens(sql))
    triples = zip(stream, stream[1:], stream[2:], strict=False)
    return tuple(c.name() for a, b, c in triples if a.is_word("new") and b.text == ".")
