"""Types as the server describes them, each asked for once."""

from __future__ import annotations

import psycopg

from headwater.source.postgres.decode.types import PgType, TypeClass
from headwater.source.postgres.server.connect import translated

# An array is what is written as one: point, name and int2vector have an element type too.
_QUERY = """
SELECT CASE n.nspname WHEN 'pg_catalog' THEN t.typname::text
                      ELSE n.nspname || '.' || t.typname END,
       CASE WHEN t.typoutput = 'pg_catalog.array_out'::regproc
            THEN 'a' ELSE t.typtype::text END,
       t.typelem::bigint, t.typbasetype::bigint, t.typtypmod, t.typdelim::text
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid = %s
"""


class Types:
    """Types by oid, with their element and base types. A type is never altered into another."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._known: dict[int, PgType] = {}

    def type(self, oid: int) -> PgType:
        """The type of that oid.

        The stream may still speak of a type that was dropped since: its values are kept as text.
        """
        known = self._known.get(oid)
        if known is None:
            known = self._known[oid] = self._read(oid)
        return known

    def _read(self, oid: int) -> PgType:
        with translated():
            row = self._connection.execute(_QUERY, (oid,)).fetchone()
        if row is None:
            return PgType(oid, f"dropped type {oid}")
        name, type_class, element, base, base_typmod, delimiter = row
        kind = TypeClass(type_class)
        return PgType(
            oid=oid,
            name=name,
            type_class=kind,
            element=self.type(element) if kind is TypeClass.ARRAY else None,
            base=self.type(base) if kind is TypeClass.DOMAIN else None,
            base_typmod=base_typmod,
            delimiter=delimiter,
        )
