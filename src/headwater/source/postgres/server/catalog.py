"""Tables, columns and keys as the server describes them.

Captured are ordinary and partitioned tables, a partitioned one under its own name with all of its
partitions. Left out are unlogged and temporary tables, which the server does not write to its log,
foreign tables and views, which hold no rows of their own, and the tables of the system, of
extensions and of Headwater.

Generated columns are in the facts, marked, but are not captured: the stream does not carry them
before PostgreSQL 18, and the snapshot must agree with the stream.

A primary key that is DEFERRABLE is none here. PostgreSQL takes it for no replica identity, and lets
rows of one statement pass through each other's keys: at the second of 1 → 2 and 2 → 3 there are two
rows with key 2, which nobody could tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from headwater.errors import ConfigError
from headwater.event import ForeignKey, TableId
from headwater.source.choice import unmatched
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.server.connect import translated

# One statement, so that everything is from one moment even while tables are being altered.
_QUERY = """
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind = 'p', c.relreplident::text,
       has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
       columns.list, keys.primary_key, keys.identity, foreign_keys.list,
       leaves.oids, leaves.rows, leaves.pages, leaves.have_identity, c.relnatts,
       keys.late
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_agg(jsonb_build_array(
        a.attname, a.attnum, a.atttypid::bigint, a.atttypmod, NOT a.attnotnull,
        a.attgenerated <> '', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum), '[]')
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
) columns(list)
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_agg(names.list)
                    FILTER (WHERE i.indisprimary AND i.indimmediate) -> 0, '[]'),
           coalesce(jsonb_agg(names.list) FILTER (WHERE i.indisreplident) -> 0, '[]'),
           coalesce(jsonb_agg(to_jsonb(x.relname) || names.list)
                    FILTER (WHERE i.indisprimary AND NOT i.indimmediate) -> 0, '[]')
    FROM pg_index i
    JOIN pg_class x ON x.oid = i.indexrelid
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(a.attname ORDER BY k.place)
        FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
        WHERE k.place <= i.indnkeyatts
    ) names(list)
    WHERE i.indrelid = c.oid AND (i.indisprimary OR i.indisreplident)
) keys(primary_key, identity, late)
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_agg(jsonb_build_array(
        (SELECT jsonb_agg(a.attname ORDER BY k.place)
         FROM unnest(f.conkey) WITH ORDINALITY k(attnum, place)
         JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum),
        rn.nspname, r.relname,
        (SELECT jsonb_agg(a.attname ORDER BY k.place)
         FROM unnest(f.confkey) WITH ORDINALITY k(attnum, place)
         JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum),
        f.confdeltype) ORDER BY f.conname), '[]')
    FROM pg_constraint f
    JOIN pg_class r ON r.oid = f.confrelid
    JOIN pg_namespace rn ON rn.oid = r.relnamespace
    WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conparentid = 0
) foreign_keys(list)
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.oid::bigint ORDER BY l.oid), '{}'),
           CASE WHEN min(l.reltuples) >= 0 THEN sum(l.reltuples)::bigint END,
           coalesce(sum(pg_relation_size(l.oid)) / current_setting('block_size')::int, 0)::bigint,
           coalesce(bool_and(l.relreplident = 'f' OR EXISTS (
               SELECT FROM pg_index i WHERE i.indrelid = l.oid AND
                   CASE l.relreplident WHEN 'd' THEN i.indisprimary AND i.indimmediate
                                       WHEN 'i' THEN i.indisreplident ELSE false END)), true)
    FROM (SELECT c.oid UNION SELECT relid FROM pg_partition_tree(c.oid) WHERE isleaf) t
    JOIN pg_class l ON l.oid = t.oid AND l.relkind = 'r'
) leaves(oids, rows, pages, have_identity)
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition
  AND n.nspname <> ALL (%s) AND n.nspname NOT LIKE 'pg\\_%%'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                  AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname, c.relname
"""
OWN_SCHEMA = "headwater"
_NOT_CAPTURED = ["information_schema", OWN_SCHEMA]
_ON_DELETE = {
    "a": "NO ACTION",
    "r": "RESTRICT",
    "c": "CASCADE",
    "n": "SET NULL",
    "d": "SET DEFAULT",
}


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column; `declared` is its type as the server writes it."""

    name: str
    attnum: int
    type_oid: int
    typmod: int
    nullable: bool
    generated: bool
    declared: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table.

    `identity` is the replica identity: d by primary key, i by an index, f the full row, n nothing.
    `leaves` are the tables that hold the rows: itself, or a partitioned table's partitions.
    `estimated_rows` is None before the server first counted; `pages` is the size as of now.
    `has_identity` is False where publishing the table would make its updates and deletes fail.
    `numbers_given` counts the columns that the table ever had, dropped ones too. `deferrable` is a
    primary key that is not taken for one: its name, then its columns.
    """

    oid: int
    table: TableId
    partitioned: bool
    readable: bool
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...]
    identity: str
    identity_columns: tuple[str, ...]
    has_identity: bool
    foreign_keys: tuple[ForeignKey, ...]
    leaves: tuple[int, ...]
    estimated_rows: int | None
    pages: int
    numbers_given: int
    deferrable: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that name a row in the stream: an identity index stands for the key."""
        return self.identity_columns if self.identity == "i" else self.primary_key


def read_tables(
    connection: psycopg.Connection, config: PostgresSourceConfig
) -> tuple[TableFacts, ...]:
    """The tables that the configuration asks for, by name."""
    return tuple(facts for facts in _read_all(connection) if config.wants(facts.table))


def require_tables(
    connection: psycopg.Connection, config: PostgresSourceConfig
) -> tuple[TableFacts, ...]:
    """The wanted tables; patterns that find nothing are a mistake worth a suggestion."""
    tables = read_tables(connection, config)
    if tables:
        return tables
    names = [str(facts.table) for facts in _read_all(connection)]
    raise ConfigError("postgres-no-table", unmatched(config.tables, names), where="source.tables")


def _read_all(connection: psycopg.Connection) -> tuple[TableFacts, ...]:
    with translated():
        rows = connection.execute(_QUERY, (_NOT_CAPTURED,)).fetchall()
    return tuple(_facts(row) for row in rows)


def _facts(row: tuple[Any, ...]) -> TableFacts:
    oid, schema, name, partitioned, identity, readable, columns, primary_key, index = row[:9]
    foreign_keys, leaves, rows, pages, has_identity, numbers_given, deferrable = row[9:]
    facts = tuple(ColumnFacts(*column) for column in columns)
    by_identity = {
        "d": tuple(primary_key),
        "i": tuple(index),
        "f": tuple(column.name for column in facts if not column.generated),
    }
    return TableFacts(
        oid=oid,
        table=TableId(schema, name),
        partitioned=partitioned,
        readable=readable,
        columns=facts,
        primary_key=tuple(primary_key),
        identity=identity,
        identity_columns=by_identity.get(identity, ()),
        has_identity=has_identity,
        foreign_keys=tuple(
            ForeignKey(tuple(own), TableId(other, table), tuple(theirs), _ON_DELETE[action])
            for own, other, table, theirs, action in foreign_keys
        ),
        leaves=tuple(leaves),
        estimated_rows=rows,
        pages=pages,
        numbers_given=numbers_given,
        deferrable=tuple(deferrable),
    )
