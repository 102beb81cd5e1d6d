"""Entities: which type, id, tenant and version a row of a table has.

Without configuration a table is an entity by its name, its key is the id, and a column `deleted_at`
that is not null means a soft delete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from headwater.event import TableId

_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What a table's rows are. The names are columns; `invalidates` are queries.

    `id` is the key where nothing is said. A row is soft-deleted where the column `soft_delete` has
    one of the values `deleted_when`, or without such values any but null; the update that does it
    is told as `soft_delete_as`.
    """

    type: str
    id: tuple[str, ...] = ()
    identifier: str | None = None
    tenant: str | None = None
    version: str | None = None
    soft_delete: str | None = "deleted_at"
    deleted_when: tuple[str | int | bool, ...] = ()
    soft_delete_as: Literal["updated", "deleted"] = "updated"
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
