"""Looking into a PostgreSQL database: its tables, and which of them can be captured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.app.database import DatabaseFacts, TableFacts
from headwater.app.postgres_settings import driver, postgres_config
from headwater.app.source_options import SourceOptions
from headwater.app.url import SourceUrl

if TYPE_CHECKING:
    from headwater.source.postgres.server.catalog import TableFacts as ServerTable


def look_at_server(url: SourceUrl, options: SourceOptions) -> DatabaseFacts:
    """Every table that could be captured, chosen or not."""
    config = postgres_config(url, replace(options, tables=("*",), exclude=()))
    with driver():
        from headwater.source.postgres.server.catalog import read_tables
        from headwater.source.postgres.server.connect import connect
    with connect(config, "look") as connection:
        found = read_tables(connection, config)
    tables = tuple(
        TableFacts(
            each.table,
            len(each.columns),
            each.key,
            refusal(each),
            tuple(column.name for column in each.columns),
        )
        for each in found
    )
    return DatabaseFacts(tables=tables, captured=None, drift=())


def refusal(table: ServerTable) -> str | None:
    """Why the table cannot be captured as it is, in words that lead to the fix."""
    if not table.has_identity:
        return "no replica identity: it needs a primary key, or REPLICA IDENTITY FULL"
    return None if table.readable else "this role may not read it: GRANT SELECT"
