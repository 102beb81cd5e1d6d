"""Quoting, with the server as the judge."""

from __future__ import annotations

import pytest

from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.source.postgres.names import literal, quote, quote_table
from tests.fix_postgres import PostgresDatabase

ODD = ["plain", "Mixed Case", 'a"b', "a.b", "select", "a'b", "a\\b", "ünïcode", "$1", "%s;--"]


@pytest.mark.parametrize("name", ODD)
def test_quoted_name_is_the_name_that_the_server_stores(
    postgres_database: PostgresDatabase, name: str
) -> None:
    table = TableId(name, name)
    postgres_database.sql(f"CREATE SCHEMA {quote(name)}; CREATE TABLE {quote_table(table)} (i int)")
    found = postgres_database.sql(
        "SELECT schemaname, tablename FROM pg_tables WHERE tableowner = 'app'"
    )
    assert found == [(name, name)]


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_literal_is_the_text_whatever_backslashes_mean_to_the_session(
    postgres_database: PostgresDatabase, conforming: str
) -> None:
    for text in [*ODD, "\\", "\\'", "two\nlines", ""]:
        script = f"SET standard_conforming_strings = {conforming}; SELECT {literal(text)}"
        assert postgres_database.sql(script) == [(text,)]


def test_table_without_a_schema_is_its_name_alone() -> None:
    assert quote_table(TableId(None, "t")) == '"t"'


@pytest.mark.parametrize("quoting", [quote, literal])
def test_nul_cannot_be_sent(quoting: type) -> None:
    with pytest.raises(ConfigError):
        quoting("a\x00b")
