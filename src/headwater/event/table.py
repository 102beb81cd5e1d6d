"""Tables, columns and keys, as the schema history keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from headwater.event.types import LogicalType


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """A table's name, with its schema where the database has schemas."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name

    def matches(self, globs: Iterable[str]) -> bool:
        """Whether one of the globs means this table, without regard to case.

        A glob with a dot is compared with `schema.table`, one without with the name in any schema.
        """
        full, bare = str(self).lower(), self.name.lower()
        return any(fnmatchcase(full if "." in glob else bare, glob.lower()) for glob in globs)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its logical type, and the declared type exactly as the database says it.

    `number` is the database's own for it: a renamed column keeps it, and no other column of the
    table ever gets it. None where the database, or the moment of looking, does not tell.
    """

    name: str
    type: LogicalType
    nullable: bool = True
    declared: str = ""
    generated: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that refer to another table's columns, and what a delete there does here."""

    columns: tuple[str, ...]
    references: TableId
    referenced_columns: tuple[str, ...]
    on_delete: str = "NO ACTION"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One version of a table's shape. Its id is its content, so every replay finds the same id."""

    table: TableId
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def column(self, name: str) -> Column | None:
        """The column of that name, or None."""
        return next((column for column in self.columns if column.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, in a fixed layout."""
        return {
            "schema": self.table.schema,
            "table": self.table.name,
            "columns": [
                {
                    "name": column.name,
                    "type": str(column.type),
                    "nullable": column.nullable,
                    "declared": column.declared,
                    "generated": column.generated,
                    # Left out where it is not known: versions written without it keep their id.
                    **({} if column.number is None else {"number": column.number}),
                }
                for column in self.columns
            ],
            "primary_key": list(self.primary_key),
            "foreign_keys": [
                {
                    "columns": list(key.columns),
                    "schema": key.references.schema,
                    "table": key.references.name,
                    "referenced_columns": list(key.referenced_columns),
                    "on_delete": key.on_delete,
                }
                for key in self.foreign_keys
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TableSchema:
        """Read what `to_dict` wrote."""
        return cls(
            table=TableId(data["schema"], data["table"]),
            columns=tuple(
                Column(
                    name=item["name"],
                    type=LogicalType.parse(item["type"]),
                    nullable=item["nullable"],
                    declared=item["declared"],
                    generated=item["generated"],
                    number=item.get("number"),
                )
                for item in data["columns"]
            ),
            primary_key=tuple(data["primary_key"]),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(item["columns"]),
                    references=TableId(item["schema"], item["table"]),
                    referenced_columns=tuple(item["referenced_columns"]),
                    on_delete=item["on_delete"],
                )
                for item in data["foreign_keys"]
            ),
        )

    def encode(self) -> str:
        """Canonical JSON of this version."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @property
    def schema_id(self) -> int:
        """63 bits of the content's hash: no counter to coordinate, the same on every replay."""
        digest = hashlib.blake2b(self.encode().encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") & 0x7FFF_FFFF_FFFF_FFFF or 1
