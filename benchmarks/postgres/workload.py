"""The table and the changes that every capture path is measured on.

Ten mixed columns; half of the changes are inserts, four in ten updates, one in ten deletes.
"""

from __future__ import annotations

import psycopg

TABLE = """
CREATE TABLE bench (
    id bigint PRIMARY KEY, n integer, price numeric(14,2), name text, at timestamptz,
    doc jsonb, ok boolean, raw bytea, ref uuid, tags integer[]
)
"""
_ROW = """
    g, mod(g, 1000), (g * 1.25)::numeric(14,2), 'name ' || g || repeat('x', 40),
    timestamptz '2026-01-02 03:04:05.678+00' + g * interval '1 second',
    jsonb_build_object('a', g, 'b', 'text'), mod(g, 2) = 0, decode(md5(g::text), 'hex'),
    md5(g::text)::uuid, ARRAY[g, g + 1, g + 2]
"""


def make_changes(connection: psycopg.Connection, changes: int, per_transaction: int) -> None:
    """Commit so many changes in transactions of that size."""
    if per_transaction == 1:
        _one_by_one(connection, changes)
        return
    inserts = per_transaction // 2
    updates, deletes = per_transaction * 4 // 10, per_transaction // 10
    for number in range(changes // per_transaction):
        first = number * inserts + 1
        with connection.transaction():
            connection.execute(
                f"INSERT INTO bench SELECT {_ROW}"
                " FROM generate_series(%s::int, %s::int) g".encode(),
                (first, first + inserts - 1),
            )
            connection.execute(
                "UPDATE bench SET n = n + 1 WHERE id BETWEEN %s AND %s",
                (first, first + updates - 1),
            )
            connection.execute(
                "DELETE FROM bench WHERE id BETWEEN %s AND %s",
                (first + updates, first + updates + deletes - 1),
            )


def _one_by_one(connection: psycopg.Connection, changes: int) -> None:
    """A procedure on the server commits after each change: a client would be measured otherwise."""
    connection.execute(
        f"""
        CREATE OR REPLACE PROCEDURE one_by_one(changes integer) LANGUAGE plpgsql AS $$
        DECLARE g integer := 0;
        BEGIN
            FOR i IN 1..changes LOOP
                IF i % 2 = 1 THEN
                    g := g + 1;
                    INSERT INTO bench SELECT {_ROW};
                ELSIF i % 10 = 0 THEN
                    DELETE FROM bench WHERE id = g - 3;
                ELSE
                    UPDATE bench SET n = n + 1 WHERE id = g;
                END IF;
                COMMIT;
            END LOOP;
        END $$""".encode()
    )
    connection.execute("CALL one_by_one(%s)", (changes,))
