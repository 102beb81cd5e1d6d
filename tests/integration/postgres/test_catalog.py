"""Tables and types as the server describes them, read as the minimal role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from headwater.errors import ConfigError
from headwater.event import ForeignKey, Kind, LogicalType, TableId
from headwater.source.postgres.decode.types import TypeClass
from headwater.source.postgres.server.catalog import (
    TableFacts,
    read_tables,
    require_tables,
)
from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.server.typecatalog import Types
from headwater.source.postgres.shapes import Shapes
from tests.fix_postgres import PostgresDatabase


@pytest.fixture
def connection(postgres_database: PostgresDatabase) -> Iterator[psycopg.Connection]:
    with connect(postgres_database.config(), "test") as connection:
        yield connection


TablesOf = Callable[..., dict[str, TableFacts]]


@pytest.fixture
def tables_of(postgres_database: PostgresDatabase, connection: psycopg.Connection) -> TablesOf:
    """Runs a script, and gives the tables that there are then."""

    def made(script: str, **settings: Any) -> dict[str, TableFacts]:
        postgres_database.sql(script)
        found = read_tables(connection, postgres_database.config(**settings))
        return {str(facts.table): facts for facts in found}

    return made


def test_columns_are_in_order_with_types_nulls_and_generated_marks(tables_of: TablesOf) -> None:
    facts = tables_of(
        """CREATE TABLE t (gone int, "Odd ""Name" numeric(12,3) NOT NULL, b text,
                           c int GENERATED ALWAYS AS (length(b)) STORED);
           ALTER TABLE t DROP COLUMN gone""",
    )["public.t"]
    assert [(c.name, c.attnum, c.declared, c.nullable, c.generated) for c in facts.columns] == [
        ('Odd "Name', 2, "numeric(12,3)", False, False),
        ("b", 3, "text", True, False),
        ("c", 4, "integer", True, True),
    ]
    assert facts.columns[0].typmod == ((12 << 16) | 3) + 4


def test_primary_key_keeps_the_order_of_the_key_and_not_of_the_columns(tables_of: TablesOf) -> None:
    script = "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (c, a) INCLUDE (b))"
    facts = tables_of(script)["public.t"]
    assert facts.primary_key == ("c", "a")
    assert facts.key == ("c", "a")


def test_deferrable_key_is_none_until_it_is_made_anew(
    tables_of: TablesOf, postgres_database: PostgresDatabase, connection: psycopg.Connection
) -> None:
    """Rows of one statement may pass through each other's keys."""
    script = "CREATE TABLE t (pos int, who text, PRIMARY KEY (pos) INCLUDE (who) DEFERRABLE)"
    facts = tables_of(script)["public.t"]
    assert (facts.primary_key, facts.key, facts.deferrable) == ((), (), ("t_pkey", "pos"))
    # It is no replica identity either: published, the table would refuse updates.
    assert not facts.has_identity
    postgres_database.sql('ALTER TABLE "t" DROP CONSTRAINT "t_pkey", ADD PRIMARY KEY ("pos")')
    (facts,) = read_tables(connection, postgres_database.config())
    assert (facts.key, facts.deferrable, facts.has_identity) == (("pos",), (), True)


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("REPLICA IDENTITY DEFAULT", ("d", ("i",), ("i",), True)),
        ("REPLICA IDENTITY FULL", ("f", ("i", "u", "v"), ("i",), True)),
        ("REPLICA IDENTITY USING INDEX uv", ("i", ("v", "u"), ("v", "u"), True)),
        ("REPLICA IDENTITY NOTHING", ("n", (), ("i",), False)),
        ("DROP CONSTRAINT t_pkey", ("d", (), (), False)),
    ],
)
def test_replica_identity_is_read_with_its_columns(
    tables_of: TablesOf, alter: str, expected: tuple[object, ...]
) -> None:
    facts = tables_of(
        f"""CREATE TABLE t (i int PRIMARY KEY, u int NOT NULL, v int NOT NULL);
            CREATE UNIQUE INDEX uv ON t (v, u); ALTER TABLE t {alter}""",
    )["public.t"]
    found = (facts.identity, facts.identity_columns, facts.key, facts.has_identity)
    assert found == expected


def test_partitioned_table_stands_for_its_partitions(
    tables_of: TablesOf, postgres_database: PostgresDatabase, connection: psycopg.Connection
) -> None:
    tables = tables_of(
        """CREATE TABLE p (i int, PRIMARY KEY (i)) PARTITION BY RANGE (i);
           CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
           CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (i);
           CREATE TABLE p21 PARTITION OF p2 FOR VALUES FROM (10) TO (20);
           INSERT INTO p SELECT generate_series(0, 19); ANALYZE""",
    )
    assert list(tables) == ["public.p"]
    facts = tables["public.p"]
    leaves = postgres_database.sql("SELECT 'p1'::regclass::oid::int, 'p21'::regclass::oid::int")
    assert facts.partitioned
    assert facts.leaves == leaves[0]
    assert (facts.estimated_rows, facts.pages) == (20, 2)
    assert facts.has_identity
    postgres_database.sql("ALTER TABLE p21 REPLICA IDENTITY NOTHING")
    assert not read_tables(connection, postgres_database.config())[0].has_identity


def test_ordinary_table_holds_its_own_rows_and_is_uncounted_at_first(tables_of: TablesOf) -> None:
    script = "CREATE TABLE t (i int); INSERT INTO t VALUES (1)"
    facts = tables_of(script)["public.t"]
    assert facts.leaves == (facts.oid,)
    assert not facts.partitioned
    assert (facts.estimated_rows, facts.pages) == (None, 1)


def test_foreign_keys_name_both_sides_in_order(tables_of: TablesOf) -> None:
    facts = tables_of(
        """CREATE TABLE a (x int, y int, PRIMARY KEY (y, x)) PARTITION BY RANGE (y);
           CREATE TABLE a1 PARTITION OF a DEFAULT;
           CREATE SCHEMA s; CREATE TABLE s.b (i int PRIMARY KEY);
           CREATE TABLE c (p int, q int, r int REFERENCES s.b ON DELETE CASCADE,
                           FOREIGN KEY (p, q) REFERENCES a)""",
    )["public.c"]
    assert facts.foreign_keys == (
        ForeignKey(("p", "q"), TableId("public", "a"), ("y", "x"), "NO ACTION"),
        ForeignKey(("r",), TableId("s", "b"), ("i",), "CASCADE"),
    )


def test_tables_that_cannot_be_streamed_are_left_out(tables_of: TablesOf) -> None:
    tables = tables_of(
        """CREATE TABLE kept (i int); CREATE UNLOGGED TABLE u (i int);
           CREATE VIEW v AS SELECT 1; CREATE MATERIALIZED VIEW m AS SELECT 1;
           CREATE SCHEMA headwater; CREATE TABLE headwater.own (i int)""",
    )
    assert list(tables) == ["public.kept"]


def test_globs_of_the_configuration_choose_tables(tables_of: TablesOf) -> None:
    tables = tables_of(
        """CREATE TABLE orders (i int); CREATE TABLE order_lines (i int); CREATE TABLE x (i int);
           CREATE SCHEMA s; CREATE TABLE s.orders (i int)""",
        tables=("public.order*", "s.*"),
        exclude=("order_l*",),
    )
    assert list(tables) == ["public.orders", "s.orders"]


def test_missing_table_is_answered_with_a_close_name(
    postgres_database: PostgresDatabase, connection: psycopg.Connection
) -> None:
    postgres_database.sql("CREATE TABLE customers (i int)")
    with pytest.raises(ConfigError) as caught:
        require_tables(connection, postgres_database.config(tables=("public.custmers",)))
    assert caught.value.code == "postgres-no-table"
    assert "did you mean 'public.customers'?" in caught.value.message


def test_table_without_select_is_marked_unreadable(tables_of: TablesOf) -> None:
    tables = tables_of(
        """CREATE TABLE a (i int); CREATE TABLE b (i int); REVOKE SELECT ON b FROM capture;
           CREATE SCHEMA s; CREATE TABLE s.c (i int)""",
    )
    readable = {name: facts.readable for name, facts in tables.items()}
    assert readable == {"public.a": True, "public.b": False, "s.c": False}


def test_types_are_resolved_down_to_their_elements_and_bases(
    postgres_database: PostgresDatabase, connection: psycopg.Connection
) -> None:
    postgres_database.sql(
        """CREATE TYPE mood AS ENUM ('ok'); CREATE TYPE pair AS (a int, b int);
           CREATE DOMAIN price AS numeric(8,2); CREATE DOMAIN dear AS price CHECK (value > 5)"""
    )

    def oid(name: str) -> int:
        return int(postgres_database.sql("SELECT %s::regtype::oid", name)[0][0])

    types = Types(connection)
    moods = types.type(oid("mood[]"))
    assert moods.type_class is TypeClass.ARRAY
    assert moods.element is not None
    assert (moods.element.name, moods.element.type_class) == ("public.mood", TypeClass.ENUM)
    dear = types.type(oid("dear"))
    assert dear.type_class is TypeClass.DOMAIN
    assert dear.base is not None
    assert dear.base.base is not None
    assert (dear.base.base_typmod, dear.base.base.name) == (((8 << 16) | 2) + 4, "numeric")
    assert types.type(oid("pair")).type_class is TypeClass.COMPOSITE
    assert types.type(oid("int4range")).type_class is TypeClass.RANGE
    assert types.type(oid("int4multirange")).type_class is TypeClass.MULTIRANGE
    assert types.type(oid("box")).delimiter == ";"
    for name in ("point", "int2vector", "name", "text"):
        assert types.type(oid(name)).type_class is TypeClass.BASE
        assert types.type(oid(name)).element is None


def test_type_that_is_gone_is_read_as_text(connection: psycopg.Connection) -> None:
    assert Types(connection).type(999_999).type_class is TypeClass.BASE


def test_type_is_asked_for_once(connection: psycopg.Connection) -> None:
    types = Types(connection)
    known = types.type(1007)
    connection.close()
    assert types.type(1007) is known
    assert types.type(23) is known.element


def test_schema_leaves_generated_and_excluded_columns_out_but_keeps_the_whole_key(
    postgres_database: PostgresDatabase, connection: psycopg.Connection
) -> None:
    """INV-10: the key survives a glob that would take a part of it away."""
    config = postgres_database.config(exclude_columns=("t.secret*",))
    postgres_database.sql(
        """CREATE TABLE t (secret_id int, part int, secret text, price numeric(8,2)[],
                           twice int GENERATED ALWAYS AS (part * 2) STORED,
                           PRIMARY KEY (secret_id, part))"""
    )
    (facts,) = read_tables(connection, config)
    schema = Shapes(config, Types(connection), lambda _oid: None).of_table(facts).schema
    assert [column.name for column in schema.columns] == ["secret_id", "part", "price"]
    assert schema.primary_key == ("secret_id", "part")
    assert schema.columns[2].type == LogicalType(
        Kind.ARRAY, element=LogicalType(Kind.DECIMAL, precision=8, scale=2)
    )
    assert schema.columns[2].declared == "numeric(8,2)[]"
