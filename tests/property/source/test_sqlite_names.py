"""Any name that SQLite can store survives quoting, introspection, capture and the index reader."""

from __future__ import annotations

import sqlite3

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.source.sqlite.identifiers import fold, quote, quote_text
from headwater.source.sqlite.install import install, uninstall
from headwater.source.sqlite.introspect import introspect
from headwater.source.sqlite.tokens import index_text, new_columns
from tests.property.source.sqlite_replay import changes, replay, rows

NAMES = st.one_of(
    st.sampled_from(
        ["select", "a b", "'", '"', '""', "]", "[x", "`", "--", "/*", "é", "new.", ";"]
    ),
    st.text(
        st.characters(codec="utf-8", exclude_characters="\x00"),
        min_size=1,
        max_size=8,
    ),
).filter(lambda name: not fold(name).startswith(("sqlite_", "_headwater_")))


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, min_size=3, max_size=5, unique_by=fold), NAMES)
def test_capture_works_when_names_are_arbitrary(columns: list[str], table: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    listed = ", ".join(quote(name) for name in columns)
    connection.execute(f"CREATE TABLE {quote(table)} ({listed}, PRIMARY KEY ({quote(columns[0])}))")
    connection.execute(
        f"CREATE UNIQUE INDEX an_index_of_the_test ON {quote(table)} "
        f"({quote(columns[1])} || {quote_text(columns[2])} DESC) WHERE {quote(columns[2])} > 0"
    )
    install(connection)
    described = introspect(connection).table(table)
    assert described is not None
    assert tuple(column.name for column in described.columns) == tuple(columns)
    marks = ", ".join("?" * len(columns))
    for value in (1, 2, 1):
        connection.execute(f"REPLACE INTO {quote(table)} VALUES ({marks})", (value,) * len(columns))
    connection.execute(f"REPLACE INTO {quote(table)} VALUES (9{', 2' * (len(columns) - 1)})")
    captured = changes(connection)
    assert [change.op for change in captured] == ["i", "i", "d", "i", "d", "i"]
    assert replay([], captured, (0,)) == rows(connection, table)
    (sql,) = (t.sql for t in introspect(connection).triggers if t.name == "_headwater_1_insert")
    assert new_columns(sql) == tuple(columns)
    uninstall(connection)
    connection.close()


@given(NAMES)
def test_quoting_gives_the_name_back_when_the_database_reads_it(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute(f"SELECT 1 AS {quote(name)}, {quote_text(name)}")
    assert cursor.description[0][0] == name
    assert cursor.fetchone()[1] == name
    connection.close()


def test_index_reader_finds_terms_when_the_text_is_full_of_traps() -> None:
    text = index_text(
        'CREATE UNIQUE INDEX "on (" ON [t)(] /* ( */ ("a,b" COLLATE nocase ASC, -- )\n'
        "substr(x, 1, instr(x, ')')) DESC, `c``(`) WHERE x > '(' AND (y) -- end"
    )
    assert text.terms == ('"a,b" COLLATE nocase', "substr(x, 1, instr(x, ')'))", "`c``(`")
    assert text.where == "x > '(' AND (y)"
