"""Generations: what `_headwater_capture` and `_headwater_meta` say about what is installed.

A generation is one set of a table's triggers. Any change of shape makes a new one, and an old
change row is for ever read with the generation that wrote it.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headwater.source.sqlite.introspect import Table
from headwater.source.sqlite.layout import CAPTURE, CHANGE, FORMAT, META


class Trust(Enum):
    """What is known about the changes between a generation and the one that it follows."""

    INTACT = "intact"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class CapturedColumn:
    """A column as it was declared when its generation was made."""

    name: str
    declared: str
    not_null: bool
    generated: bool


@dataclass(frozen=True, slots=True)
class Generation:
    """One row of `_headwater_capture`.

    Position i of `columns` is read from o{i+1} and n{i+1}. Change rows of this generation lie
    after `created_change_id` and, once it is retired, not after `retired_change_id`. `follows` is
    the table's generation before this one; `trust` says whether changes may be missing between.
    """

    capture_no: int
    table: str
    columns: tuple[CapturedColumn, ...]
    key: tuple[str, ...]
    follows: int | None
    trust: Trust
    created_change_id: int
    retired_change_id: int | None

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names by position."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Installed:
    """Everything that capture knows about itself in one database."""

    format: str
    source_id: str
    schema_cookie: int
    width: int
    generations: tuple[Generation, ...]

    @property
    def active(self) -> tuple[Generation, ...]:
        """The generations whose triggers should stand now, one per captured table."""
        return tuple(g for g in self.generations if g.retired_change_id is None)


def read_installed(connection: sqlite3.Connection) -> Installed | None:
    """What is installed, or None if nothing is. An unknown format is for the caller to judge."""
    if not _rows(
        connection,
        f"SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = '{META}'",
    ):
        return None
    meta = dict(_rows(connection, f"SELECT key, value FROM main.{META}"))
    width = _rows(
        connection,
        f"SELECT count(*) FROM pragma_table_info('{CHANGE}', 'main') WHERE name GLOB 'o[0-9]*'",
    )[0][0]
    supported = meta.get("format") == FORMAT
    return Installed(
        format=meta.get("format", ""),
        source_id=meta.get("source_id", ""),
        schema_cookie=int(meta.get("schema_cookie", "0")),
        width=width,
        generations=_generations(connection) if supported else (),
    )


def encode_columns(table: Table) -> str:
    """The column list of a generation as it is stored."""
    return json.dumps(
        [
            {
                "name": column.name,
                "declared": column.declared,
                "not_null": column.not_null,
                "generated": column.generated,
            }
            for column in table.columns
        ],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _generations(connection: sqlite3.Connection) -> tuple[Generation, ...]:
    rows = _rows(
        connection,
        "SELECT capture_no, table_name, columns, key_columns, follows, trust, created_change_id, "
        f"retired_change_id FROM main.{CAPTURE} ORDER BY capture_no",
    )
    return tuple(
        Generation(
            capture_no=number,
            table=table,
            columns=tuple(CapturedColumn(**item) for item in json.loads(columns)),
            key=tuple(json.loads(key)),
            follows=follows,
            trust=Trust(trust),
            created_change_id=created,
            retired_change_id=retired,
        )
        for number, table, columns, key, follows, trust, created, retired in rows
    )


def _rows(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(sql).fetchall()
