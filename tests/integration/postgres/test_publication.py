"""The publication follows the chosen tables, or says the SQL that would make it."""

from __future__ import annotations

import psycopg
import pytest

from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.server.publication import drift, drop, ensure, read_publication
from tests.fix_postgres import PostgresDatabase

TABLES = """CREATE TABLE a (i int PRIMARY KEY); CREATE TABLE b (i int PRIMARY KEY);
            CREATE TABLE "Odd ""One" (i int PRIMARY KEY)"""


def _ensure(database: PostgresDatabase, user: str = "app", **settings: object) -> tuple[str, ...]:
    config = database.config(user, **settings)
    with connect(config, "test") as connection:
        return ensure(connection, config, read_tables(connection, config))


def _published(database: PostgresDatabase) -> set[str]:
    rows = database.sql("SELECT tablename FROM pg_publication_tables WHERE pubname = 'headwater'")
    return {row[0] for row in rows}


def test_publication_is_made_for_the_chosen_tables_with_every_kind_of_change(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(TABLES)
    assert len(_ensure(postgres_database, exclude=("b",))) == 1
    assert _published(postgres_database) == {"a", 'Odd "One'}
    options = postgres_database.sql(
        "SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication"
    )
    assert options == [(True,) * 5]
    assert _ensure(postgres_database, exclude=("b",)) == ()


def test_publication_follows_new_and_dropped_choices(postgres_database: PostgresDatabase) -> None:
    postgres_database.sql(TABLES)
    _ensure(postgres_database, tables=("a",))
    _ensure(postgres_database, tables=("b", "Odd*"))
    assert _published(postgres_database) == {"b", 'Odd "One'}


def test_partitioned_table_is_published_under_its_own_name(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        """CREATE TABLE p (i int PRIMARY KEY) PARTITION BY RANGE (i);
           CREATE TABLE p1 PARTITION OF p DEFAULT"""
    )
    _ensure(postgres_database)
    assert _published(postgres_database) == {"p"}
    assert _ensure(postgres_database) == ()


def test_table_that_inherits_is_published_only_if_it_is_chosen(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        "CREATE TABLE parent (i int PRIMARY KEY); CREATE TABLE child () INHERITS (parent)"
    )
    _ensure(postgres_database, tables=("parent",))
    assert _published(postgres_database) == {"parent"}


def test_filters_and_left_out_changes_are_drift_and_are_taken_away(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        """CREATE TABLE a (i int PRIMARY KEY, t text); CREATE TABLE b (i int PRIMARY KEY, t text);
           CREATE PUBLICATION headwater FOR TABLE a WHERE (i > 5), b (i)
           WITH (publish = 'insert, update')"""
    )
    config = postgres_database.config("app")
    with connect(config, "test") as connection:
        found = drift(read_publication(connection, "headwater"), read_tables(connection, config))
    assert found.partial == (TableId("public", "a"), TableId("public", "b"))
    assert found.incomplete
    _ensure(postgres_database)
    rows = postgres_database.sql("SELECT prqual, prattrs FROM pg_publication_rel")
    assert rows == [(None, None), (None, None)]
    assert postgres_database.sql("SELECT pubdelete, pubtruncate FROM pg_publication") == [
        (True, True)
    ]


@pytest.mark.parametrize("scope", ["ALL TABLES", "TABLES IN SCHEMA public"])
def test_wider_publication_of_the_users_own_is_left_as_it_is(
    postgres_database: PostgresDatabase, scope: str
) -> None:
    postgres_database.sql(TABLES)
    postgres_database.sql(
        f"CREATE PUBLICATION headwater FOR {scope} WITH (publish_via_partition_root = true)",
        user="postgres",
    )
    assert _ensure(postgres_database, "capture", tables=("a",)) == ()


def test_minimal_role_is_told_the_sql_that_the_owner_must_run(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(TABLES)
    with pytest.raises(ConfigError) as caught:
        _ensure(postgres_database, "capture")
    assert caught.value.code == "postgres-publication"
    _, _, script = caught.value.hint.partition("\n")
    postgres_database.sql(script)
    assert _ensure(postgres_database, "capture") == ()


def test_publication_stays_as_it_is_when_the_configuration_says_not_to_create(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(TABLES)
    with pytest.raises(ConfigError) as caught:
        _ensure(postgres_database, create=False)
    assert caught.value.code == "postgres-publication"
    assert _published(postgres_database) == set()


def test_table_without_identity_is_not_published_so_that_its_updates_go_on_working(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE TABLE bare (i int); INSERT INTO bare VALUES (1)")
    with pytest.raises(ConfigError) as caught:
        _ensure(postgres_database)
    assert caught.value.code == "postgres-no-identity"
    assert 'ALTER TABLE "public"."bare" REPLICA IDENTITY FULL;' in caught.value.hint
    postgres_database.sql("UPDATE bare SET i = 2")
    postgres_database.sql("ALTER TABLE bare REPLICA IDENTITY FULL")
    _ensure(postgres_database)
    postgres_database.sql("UPDATE bare SET i = 3")


def test_change_of_a_publication_is_whole_or_not_at_all(
    postgres_database: PostgresDatabase,
) -> None:
    """The second table belongs to somebody else: the first must not be added alone."""
    postgres_database.sql(TABLES)
    _ensure(postgres_database, tables=("a",))
    postgres_database.sql("ALTER TABLE b OWNER TO postgres", user="postgres")
    with pytest.raises(ConfigError):
        _ensure(postgres_database, tables=("b", "Odd*"))
    assert _published(postgres_database) == {"a"}


def test_drop_takes_the_publication_away_and_can_be_repeated(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(TABLES)
    _ensure(postgres_database)
    connection: psycopg.Connection
    with connect(postgres_database.config("app"), "test") as connection:
        drop(connection, "headwater")
        drop(connection, "headwater")
        assert read_publication(connection, "headwater") is None
