"""Entities: which type, id, tenant and version a row of a table has.

Without configuration a table is an entity by its name, its key is the id, and a column `deleted_at`
that is not null means a soft delete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from headwater.event import TableId
from headwater.format.jsontext import Real, canonical

Row = dict[str, Any]

_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What a table's rows are. The names are columns; `invalidates` are queries."""

    type: str
    identifier: str | None = None
    tenant: str | None = None
    version: str | None = None
    soft_delete: str | None = "deleted_at"
    invalidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityMap:
    """Entities by table, `schema.table` or `table`; other tables are entities by their name."""

    by_table: Mapping[str, Entity] = field(default_factory=dict)

    def entity(self, table: TableId) -> Entity:
        """The entity of the table."""
        found = self.by_table.get(str(table)) or self.by_table.get(table.name)
        return found or Entity(type=type_name(table.name))


def type_name(table: str) -> str:
    """`tb_blog_post` is a `BlogPost`; a name that has no words in it stays as it is."""
    words = _WORDS.findall(table.removeprefix("tb_"))
    return "".join(word[0].upper() + word[1:] for word in words) or table


def id_text(key: Row | None) -> str | None:
    """A key as one string: its text, or a JSON array of several; None for a row without a key."""
    if not key:
        return None
    values = list(key.values())
    return scalar_text(values[0]) if len(values) == 1 else canonical(values)


def scalar_text(value: Any) -> str:
    """A value as text; UUIDs in lower case, so that one id has one text."""
    match value:
        case str():
            return value.lower() if _is_uuid(value) else value
        case bool() | None:
            return canonical(value)
        case int():
            return repr(value)
        case Real():
            return value.text
        case _:
            return canonical(value)


def _is_uuid(text: str) -> bool:
    if len(text) != 36 or text.islower():
        return False
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
