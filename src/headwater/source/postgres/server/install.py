"""What `headwater setup postgres URL` puts into a database, and takes out again.

Capture works without any of it. The function `headwater.context(jsonb)` lets an application say in
its transaction who is changing what and why. The event triggers say in the stream which statement
changed a table; only a superuser may make them, and without them a changed table is noticed at its
next row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import errors

from headwater.event import TableId
from headwater.source.postgres.names import literal, quote, quote_table
from headwater.source.postgres.server.catalog import OWN_SCHEMA
from headwater.source.postgres.server.connect import translated

# Kept as the schema's comment, so that a later version knows what it finds.
_FORMAT = "headwater 1"

# What setup shows before it runs it: one function, which any application may call.
CONTEXT_SQL = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
COMMENT ON SCHEMA {OWN_SCHEMA} IS {literal(_FORMAT)};
GRANT USAGE ON SCHEMA {OWN_SCHEMA} TO PUBLIC;
CREATE OR REPLACE FUNCTION {OWN_SCHEMA}.context(facts jsonb) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $body$
  SELECT pg_logical_emit_message(true, 'headwater.context', facts::text)
$body$;
"""

# The functions are dropped and made, never replaced: a replaced one keeps its owner, who could
# then change what runs in a superuser's session. A user's statement never fails because of them.
_REMOVE_TRIGGERS = f"""
DROP EVENT TRIGGER IF EXISTS headwater_altered;
DROP EVENT TRIGGER IF EXISTS headwater_dropped;
DROP FUNCTION IF EXISTS {OWN_SCHEMA}.altered();
DROP FUNCTION IF EXISTS {OWN_SCHEMA}.dropped();
"""


def _emitter(name: str, rows: str) -> str:
    return f"""
CREATE FUNCTION {OWN_SCHEMA}.{name}() RETURNS event_trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE found record;
BEGIN
  FOR found IN {rows} LOOP
    PERFORM pg_logical_emit_message(true, 'headwater.ddl', json_build_object(
      'tag', tg_tag, 'schema', found.schema_name, 'table', found.table_name,
      'object_type', found.object_type, 'statement', current_query())::text);
  END LOOP;
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'headwater could not note this statement: %', sqlerrm;
END $body$;
"""


_ALTERED = _emitter(
    "altered",
    """SELECT DISTINCT d.object_type, n.nspname AS schema_name, c.relname AS table_name
    FROM pg_event_trigger_ddl_commands() d
    JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
      AND d.object_type IN ('table', 'table column')""",
)
# A column dropped by ALTER TABLE is told by the other trigger; one dropped along with its type is
# told by this one alone.
_DROPPED = _emitter(
    "dropped",
    """SELECT DISTINCT d.object_type, d.address_names[1] AS schema_name,
           d.address_names[2] AS table_name
    FROM pg_event_trigger_dropped_objects() d
    WHERE NOT d.is_temporary
      AND (d.object_type = 'table'
           OR d.object_type = 'table column' AND tg_tag <> 'ALTER TABLE')""",
)
TRIGGERS_SQL = f"""
{_REMOVE_TRIGGERS}{_ALTERED}{_DROPPED}
CREATE EVENT TRIGGER headwater_altered ON ddl_command_end
  WHEN tag IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE')
  EXECUTE FUNCTION {OWN_SCHEMA}.altered();
CREATE EVENT TRIGGER headwater_dropped ON sql_drop EXECUTE FUNCTION {OWN_SCHEMA}.dropped();
"""

_FOUND = """
SELECT obj_description(n.oid, 'pg_namespace'),
       (SELECT count(*) FROM pg_event_trigger WHERE evtenabled <> 'D'
        AND evtname IN ('headwater_altered', 'headwater_dropped'))
FROM pg_namespace n WHERE n.nspname = %s
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """What stands in the database. `note` says why something that was asked for does not."""

    context: bool
    ddl_messages: bool
    note: str = ""


def read_installation(connection: psycopg.Connection) -> Installation:
    """What is installed now."""
    with translated():
        row = connection.execute(_FOUND, (OWN_SCHEMA,)).fetchone()
    if row is None:
        return Installation(context=False, ddl_messages=False)
    return Installation(context=row[0] == _FORMAT, ddl_messages=row[1] == 2)


def install(connection: psycopg.Connection, *, event_triggers: bool = True) -> Installation:
    """Install what is missing; repeating it changes nothing."""
    found = read_installation(connection)
    database = quote(connection.info.dbname)
    grant = f"GRANT CREATE ON DATABASE {database} TO {quote(connection.info.user)}"
    if not found.context:
        with translated(OWN_SCHEMA, grant), connection.transaction():
            connection.execute(CONTEXT_SQL.encode())
    note = ""
    if event_triggers and not found.ddl_messages:
        with translated(OWN_SCHEMA):
            try:
                with connection.transaction():
                    connection.execute(TRIGGERS_SQL.encode())
            except errors.InsufficientPrivilege as exc:
                note = (
                    f"no event triggers: {exc.diag.message_primary}. Only a superuser may make "
                    "them; without them a changed table is noticed at its next row."
                )
    now = read_installation(connection)
    return Installation(now.context, now.ddl_messages, note)


def uninstall(connection: psycopg.Connection) -> None:
    """Take everything of ours out of the database."""
    fix = f"run as a superuser: DROP SCHEMA {OWN_SCHEMA} CASCADE"
    with translated(OWN_SCHEMA, fix), connection.transaction():
        connection.execute(_REMOVE_TRIGGERS.encode())
        connection.execute(f"DROP FUNCTION IF EXISTS {OWN_SCHEMA}.context(jsonb)".encode())
        connection.execute(f"DROP SCHEMA IF EXISTS {OWN_SCHEMA}".encode())


def minimal_grants(role: str, database: str, tables: Sequence[TableId]) -> tuple[str, ...]:
    """The rights that capturing these tables needs, and no others."""
    user = quote(role)
    schemas = sorted({table.schema for table in tables if table.schema is not None})
    return (
        f"ALTER ROLE {user} LOGIN REPLICATION",
        f"GRANT CONNECT ON DATABASE {quote(database)} TO {user}",
        *(f"GRANT USAGE ON SCHEMA {quote(schema)} TO {user}" for schema in schemas),
        *(f"GRANT SELECT ON {quote_table(table)} TO {user}" for table in tables),
    )
