r"""Arrays: `{1,2,NULL}` and `{{"a b","c\"d"},{x,y}}` as JSON arrays.

Arrays of plain numbers need only other brackets. Arrays of one dimension without quotes are split
by Arrow, their elements rendered as one column and joined again. The rest is parsed value by value;
their elements too are rendered together. Text that is no plain array, such as one with bounds of
its own (`[2:3]={…}`), stays the server's text, as a string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.source.postgres.decode.render.text import Renderer, text, unreadable, utf8
from headwater.source.postgres.decode.spans import content, places, rebuilt

_NUMBERS = np.zeros(256, dtype=np.uint8)  # what each byte of a number array becomes; 0: not here
for _char in b"0123456789-+.e,":
    _NUMBERS[_char] = _char
for _from, _to in zip(b"{}NUL", b"[]nul", strict=True):
    _NUMBERS[_from] = _to

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
# What may come after a bracket, a delimiter or an element (e); "" is the beginning.
_FOLLOWS = {"": "{", "{": "{e}", "}": ",}", ",": "e{", "e": ",}"}


def number_arrays(element: Renderer, delimiter: str) -> Renderer:
    """The renderer of arrays of numbers that are their own literal."""
    other = arrays(element, delimiter)

    def render(values: pa.Array) -> pa.Array:
        literals = utf8(values)
        data = _NUMBERS[content(literals)]
        if not data.all():
            return other(literals)
        offsets = places(literals)
        return rebuilt(literals, offsets - offsets[0], data)

    return render


def arrays(element: Renderer, delimiter: str) -> Renderer:
    """The renderer of arrays of anything."""
    bare = rf'[^{{}}"\\{re.escape(delimiter)}]+'
    one_level = rf"^\{{{bare}({re.escape(delimiter)}{bare})*\}}$"

    def render(values: pa.Array) -> pa.Array:
        texts = utf8(values)
        simple = pc.match_substring_regex(texts, one_level)
        if pc.all(simple, min_count=0).as_py():
            return _split(texts, element, delimiter)
        hard = pc.invert(simple)
        easy = _split(texts.filter(simple), element, delimiter)
        literals = pc.replace_with_mask(texts, simple, easy)
        return pc.replace_with_mask(literals, hard, _parse(texts.filter(hard), element, delimiter))

    return render


def _split(texts: pa.Array, element: Renderer, delimiter: str) -> pa.Array:
    lists = pc.split_pattern(pc.utf8_slice_codeunits(texts, 1, -1), delimiter)
    tokens = lists.flatten()
    null = pc.equal(tokens, "NULL")
    literals = element(pc.if_else(null, pa.scalar(None, pa.string()), tokens))
    offsets, mask = lists.offsets, None
    if texts.null_count:
        mask = texts.is_null()
    rejoined = pa.ListArray.from_arrays(offsets, literals.fill_null("null"), mask=mask)
    return pc.binary_join_element_wise("[", pc.binary_join(rejoined, ","), "]", "")


def _parse(texts: pa.Array, element: Renderer, delimiter: str) -> pa.Array:
    shredder = _Shredder(delimiter)
    plain = pc.starts_with(texts, pattern="{")
    shapes = [shredder.shred(value) for value in texts.filter(plain).to_pylist()]
    elements = pa.array(shredder.elements, pa.string())
    literals = element(elements).fill_null("null").to_pylist()
    joined = [
        "".join(literals[part] if isinstance(part, int) else part for part in shape)
        for shape in shapes
    ]
    return pc.replace_with_mask(text(texts), plain, pa.array(joined, pa.string()))


@dataclass(slots=True)
class _Shredder:
    """Takes arrays apart: their elements on one heap, their shapes apart."""

    delimiter: str
    elements: list[str | None] = field(default_factory=list)
    _tokens: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        end = re.escape(self.delimiter)
        self._tokens = re.compile(
            rf'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>[{{}}{end}])|(?P<bare>[^{{}}"\\{end}]+)',
            re.DOTALL,
        )

    def shred(self, value: str) -> list[str | int]:
        """The array's JSON as a list of parts; a number is the place of an element."""
        parts: list[str | int] = []
        place, depth, last = 0, 0, ""
        while place < len(value):
            token = self._tokens.match(value, place)
            if token is None:
                raise unreadable("array")
            place = token.end()
            mark = self._mark(token)
            if mark not in _FOLLOWS[last] or (last == "}" and depth == 0):
                raise unreadable("array")
            depth += (mark == "{") - (mark == "}")
            parts.append({"{": "[", "}": "]", ",": ","}.get(mark, len(self.elements)))
            if mark == "e":
                self.elements.append(_element(token))
            last = mark
        if depth or last != "}":
            raise unreadable("array")
        return parts

    def _mark(self, token: re.Match[str]) -> str:
        if token["mark"] is None:
            return "e"
        return "," if token["mark"] == self.delimiter else token["mark"]


def _element(token: re.Match[str]) -> str | None:
    if token["quoted"] is not None:
        return _ESCAPE.sub(r"\1", token["quoted"])
    return None if token["bare"] == "NULL" else token["bare"]
