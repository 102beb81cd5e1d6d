"""What setup installs: seen in the stream itself, repeatable, and removable without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.source.postgres.server.connect import connect
from headwater.source.postgres.server.install import (
    Installation,
    install,
    minimal_grants,
    read_installation,
    uninstall,
)
from tests.fix_postgres import PostgresDatabase


def _install(database: PostgresDatabase, user: str, *, event_triggers: bool = True) -> Installation:
    with connect(database.config(user), "test") as connection:
        return install(connection, event_triggers=event_triggers)


def _messages(database: PostgresDatabase, script: str, prefix: str) -> list[Any]:
    """The contents of the logical messages that a script sends into a fresh slot's stream."""
    slot = f"{database.name}_messages"
    database.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", slot, user="capture")
    database.sql(script)
    changes = database.sql(
        "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1',"
        " 'publication_names', 'headwater', 'messages', 'true')",
        slot,
        user="capture",
    )
    database.sql("SELECT pg_drop_replication_slot(%s)", slot, user="capture")
    # M, flags, position, prefix and its end, length, content.
    head = 10 + len(prefix) + 1 + 4
    return [
        json.loads(data[head:])
        for (data,) in changes
        if data[:1] == b"M" and data[10:].startswith(prefix.encode() + b"\0")
    ]


def _objects(database: PostgresDatabase) -> list[tuple[Any, ...]]:
    return database.sql(
        """SELECT 'schema', nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
           UNION ALL SELECT 'function', proname FROM pg_proc WHERE oid >= 16384
           UNION ALL SELECT 'trigger', evtname FROM pg_event_trigger ORDER BY 1, 2"""
    )


def test_context_arrives_in_the_stream_of_its_transaction(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE PUBLICATION headwater")
    found = _install(postgres_database, "app", event_triggers=False)
    assert found == Installation(context=True, ddl_messages=False)
    script = """BEGIN; SELECT headwater.context('{"user": "lost"}'); ROLLBACK;
                SELECT headwater.context('{"user": "ada", "n": 1}')"""
    messages = _messages(postgres_database, script, "headwater.context")
    assert messages == [{"user": "ada", "n": 1}]


def test_any_role_may_give_context(postgres_database: PostgresDatabase) -> None:
    _install(postgres_database, "app", event_triggers=False)
    postgres_database.sql("SELECT headwater.context('{}')", user="capture")


def test_changes_of_tables_are_told_with_their_statement(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE PUBLICATION headwater; CREATE TYPE mood AS ENUM ('ok')")
    assert _install(postgres_database, "postgres").ddl_messages
    statements = [
        'CREATE TABLE "T 1" (i int PRIMARY KEY, m mood)',
        'ALTER TABLE "T 1" ADD COLUMN j int DEFAULT 5',
        'ALTER TABLE "T 1" RENAME COLUMN j TO k',
        'ALTER TABLE "T 1" DROP COLUMN k',
        "DROP TYPE mood CASCADE",
        'DROP TABLE "T 1"',
    ]
    told: list[tuple[str, ...]] = []
    for statement in statements:
        for message in _messages(postgres_database, statement, "headwater.ddl"):
            assert message["statement"] == statement
            told.append(tuple(message[name] for name in ("tag", "schema", "table", "object_type")))
    assert told == [
        ("CREATE TABLE", "public", "T 1", "table"),
        ("ALTER TABLE", "public", "T 1", "table"),
        ("ALTER TABLE", "public", "T 1", "table column"),
        ("ALTER TABLE", "public", "T 1", "table"),
        ("DROP TYPE", "public", "T 1", "table column"),
        ("DROP TABLE", "public", "T 1", "table"),
    ]


def test_other_and_temporary_objects_are_not_told(postgres_database: PostgresDatabase) -> None:
    postgres_database.sql("CREATE PUBLICATION headwater")
    _install(postgres_database, "postgres")
    script = """CREATE TEMP TABLE t (i int); ALTER TABLE t ADD j int; DROP TABLE t;
                CREATE UNLOGGED TABLE u (i int); CREATE VIEW v AS SELECT 1; DROP VIEW v;
                CREATE SEQUENCE s; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"""
    assert _messages(postgres_database, script, "headwater.ddl") == []


def test_setup_without_superuser_goes_on_and_says_what_is_missing(
    postgres_database: PostgresDatabase,
) -> None:
    found = _install(postgres_database, "app")
    assert found.context
    assert not found.ddl_messages
    assert "superuser" in found.note


def test_superuser_adds_what_the_owner_could_not(postgres_database: PostgresDatabase) -> None:
    _install(postgres_database, "app")
    assert _install(postgres_database, "postgres") == Installation(context=True, ddl_messages=True)


def test_function_of_a_trigger_never_keeps_another_owner(
    postgres_database: PostgresDatabase,
) -> None:
    """Whoever owns it decides what runs in every session that changes a table."""
    _install(postgres_database, "app", event_triggers=False)
    postgres_database.sql(
        """CREATE FUNCTION headwater.altered() RETURNS event_trigger
           LANGUAGE plpgsql AS 'BEGIN END'"""
    )
    _install(postgres_database, "postgres")
    owners = postgres_database.sql(
        "SELECT proowner::regrole::text FROM pg_proc WHERE proname IN ('altered', 'dropped')"
    )
    assert owners == [("postgres",), ("postgres",)]


def test_setup_can_be_repeated_and_taken_back(postgres_database: PostgresDatabase) -> None:
    before = _objects(postgres_database)
    first = _install(postgres_database, "postgres")
    installed = _objects(postgres_database)
    assert _install(postgres_database, "postgres") == first
    assert _objects(postgres_database) == installed != before
    with connect(postgres_database.config("postgres"), "test") as connection:
        uninstall(connection)
        uninstall(connection)
        assert read_installation(connection) == Installation(context=False, ddl_messages=False)
    assert _objects(postgres_database) == before


def test_role_that_may_not_create_is_told_the_grant(postgres_database: PostgresDatabase) -> None:
    with pytest.raises(ConfigError) as caught:
        _install(postgres_database, "capture")
    assert caught.value.code == "postgres-privilege"
    assert caught.value.hint.startswith("GRANT CREATE ON DATABASE")


def test_minimal_grants_let_a_new_role_read_the_tables(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql('CREATE SCHEMA "My S"; CREATE TABLE "My S"."T" (i int PRIMARY KEY)')
    tables = (TableId("My S", "T"),)
    role = "capture"
    postgres_database.sql('REVOKE SELECT ON "My S"."T" FROM capture')
    with pytest.raises(Exception, match="permission denied"):
        postgres_database.sql('SELECT * FROM "My S"."T"', user=role)
    grants = minimal_grants(role, postgres_database.name, tables)
    postgres_database.sql("; ".join(grants), user="postgres")
    assert postgres_database.sql('SELECT * FROM "My S"."T"', user=role) == []
