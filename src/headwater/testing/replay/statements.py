"""What a DDL statement does to a table, as `schema_change` events tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headwater.testing.replay.tokens import Token, scan, spelled, split

# What may follow a column's type; before it, everything belongs to the type.
_AFTER_TYPE = (
    *("NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "COLLATE"),
    *("GENERATED", "IDENTITY", "AUTO_INCREMENT", "COMMENT", "CONSTRAINT", "AFTER", "FIRST"),
)
_NO_COLUMN = (
    *("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "INDEX", "KEY", "FULLTEXT"),
    *("SPATIAL", "PARTITION", "PERIOD"),
)


@dataclass(frozen=True, slots=True)
class TableChange:
    """A statement about one table."""

    ddl_type: str
    schema: str
    table: str
    statement: str
    operations: tuple[dict[str, Any], ...] | None

    def to_dict(self) -> dict[str, Any]:
        """The after image of the event."""
        said: dict[str, Any] = {"ddl_type": self.ddl_type, "schema": self.schema}
        if self.operations is not None:
            said["schema_diff"] = {"operations": list(self.operations)}
        return said | {"statement": self.statement, "table": self.table}


def table_change(statement: str, default_schema: str) -> TableChange:
    """Read the statement. ValueError if it creates, alters or drops no table."""
    tokens = scan(statement)
    if len(tokens) < 3 or not tokens[1].says("TABLE"):
        raise ValueError("is no CREATE, ALTER or DROP TABLE")
    verb = tokens[0].text.upper()
    if verb not in {"CREATE", "ALTER", "DROP"}:
        raise ValueError("is no CREATE, ALTER or DROP TABLE")
    parts, rest = _name(_behind(tokens[2:], ("IF", "NOT", "EXISTS", "ONLY")))
    return TableChange(
        ddl_type=f"{verb}_TABLE",
        schema=parts[-2] if len(parts) > 1 else default_schema,
        table=parts[-1],
        statement=statement,
        operations=tuple(map(_operation, split(rest))) if verb == "ALTER" else None,
    )


def _behind(tokens: Sequence[Token], words: tuple[str, ...]) -> Sequence[Token]:
    at = 0
    while at < len(tokens) and tokens[at].says(*words):
        at += 1
    return tokens[at:]


def _name(tokens: Sequence[Token]) -> tuple[list[str], Sequence[Token]]:
    """A name with its parts, and what follows it."""
    if not tokens or tokens[0].kind not in {"word", "quoted"}:
        raise ValueError("names no table")
    parts, at = [tokens[0].name], 1
    while at + 1 < len(tokens) and tokens[at].is_mark("."):
        parts.append(tokens[at + 1].name)
        at += 2
    return parts, tokens[at:]


def _operation(clause: list[Token]) -> dict[str, Any]:
    return _column_operation(clause) or {"Unsupported": {"clause": spelled(clause)}}


def _column_operation(clause: list[Token]) -> dict[str, Any] | None:
    if not clause:
        return None
    rest = _behind(clause[1:], ("COLUMN",))
    if clause[0].says("ADD") and rest and not rest[0].says(*_NO_COLUMN):
        return _added(_behind(rest, ("IF", "NOT", "EXISTS")))
    if clause[0].says("DROP") and rest:
        return _dropped(rest, said_column=len(rest) < len(clause) - 1)
    if clause[0].says("RENAME") and len(rest) == 3 and rest[1].says("TO"):
        return {"RenameColumn": {"from": rest[0].name, "to": rest[2].name}}
    return None


def _added(tokens: Sequence[Token]) -> dict[str, Any] | None:
    if len(tokens) < 2 or tokens[0].kind not in {"word", "quoted"}:
        return None
    definition = tokens[1:]
    at = next((i for i, token in enumerate(definition) if token.says(*_AFTER_TYPE)), None)
    kind, more = (definition, ()) if at is None else (definition[:at], definition[at:])
    if not kind:
        return None
    constraints = spelled(more)
    column = {
        "constraints": [constraints] if constraints else [],
        "data_type": spelled(kind),
        "name": tokens[0].name,
        "nullable": not ("NOT NULL" in constraints or "PRIMARY KEY" in constraints),
    }
    return {"AddColumn": {"column": column}}


def _dropped(tokens: Sequence[Token], *, said_column: bool) -> dict[str, Any] | None:
    rest = _behind(tokens, ("IF", "EXISTS"))
    if len(rest) == 2 and rest[1].says("CASCADE", "RESTRICT"):
        rest = rest[:1]
    if len(rest) != 1 or rest[0].kind not in {"word", "quoted"}:
        return None
    return {"DropColumn": {"name": rest[0].name}} if said_column or len(tokens) == 1 else None
