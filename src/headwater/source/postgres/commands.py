"""Commands about rows that are owed: each makes another place of the one where capture stands."""

from __future__ import annotations

import difflib
from dataclasses import replace

import psycopg

from headwater.contract import Command, Verb, Wish
from headwater.errors import ConfigError, StateError
from headwater.source.postgres.place import PendingTable, Place, SnapshotPlace
from headwater.source.postgres.server.catalog import TableFacts
from headwater.source.postgres.server.publication import read_publication
from headwater.source.postgres.session import Session
from headwater.source.postgres.tables.chunk import stored_tables
from headwater.source.postgres.tables.condition import estimated_rows
from headwater.source.postgres.tables.keys import key_condition


def carried_out(
    session: Session, connection: psycopg.Connection, place: Place, command: Command
) -> Place:
    """The place after a command; one that was taken before changes nothing."""
    if command.id <= (place.asked or 0):
        return place
    taken, wish = replace(place, asked=command.id), command.wish
    match wish.verb:
        case Verb.START:
            return taken.owing(_asked_for(session, connection, place, command))
        case Verb.PAUSE | Verb.RESUME:
            paused = wish.verb is Verb.PAUSE
            return replace(taken, snapshot=replace(_owed(place), paused=paused))
        case Verb.STOP:
            return replace(taken, snapshot=_without(session, connection, _owed(place), wish))
        case Verb.THROTTLE:
            owed = _owed(place)
            tables = (replace(table, rows_per_s=wish.rows_per_s) for table in owed.pending)
            return replace(taken, snapshot=owed.with_tables(tables))


def _asked_for(
    session: Session, connection: psycopg.Connection, place: Place, command: Command
) -> tuple[PendingTable, ...]:
    """The tables in which the rows lie, each with its part of the command."""
    wish = command.wish
    facts = _table(session, wish.table or "")
    _check(session, connection, facts)
    owed = () if place.snapshot is None else place.snapshot.pending
    asked = (facts.leaves[0], wish.where, wish.keys)
    if any((each.oid, each.where, each.keys) == asked for each in owed):
        raise StateError("backfill-running", f"the rows of {facts.table} are being read already")
    if wish.keys is not None:
        return (_keys(session, connection, facts, command),)
    # A transaction that wrote to the table before it was published is not in the stream.
    after_xid = session.beyond_running()
    return tuple(
        PendingTable(
            stored.oid,
            rows_total=stored.rows_total
            if wish.where is None
            else estimated_rows(connection, stored.table, wish.where),
            where=wish.where,
            after_xid=after_xid,
            command=command.id,
            rows_per_s=wish.rows_per_s,
        )
        for stored in stored_tables(connection, facts.leaves)
    )


def _keys(
    session: Session, connection: psycopg.Connection, facts: TableFacts, command: Command
) -> PendingTable:
    """Rows by their keys. They are looked for in the whole table, under the name of one part."""
    keys = command.wish.keys or ()
    for unit in session.units(connection):
        if unit.oid == facts.leaves[0]:
            key_condition(keys, unit.captured.schema)
    return PendingTable(
        facts.leaves[0],
        rows_total=len(keys),
        after_xid=session.beyond_running(),
        command=command.id,
        rows_per_s=command.wish.rows_per_s,
        keys=keys,
    )


def _table(session: Session, name: str) -> TableFacts:
    session.roll.look()
    found = [facts for facts in session.roll.tables if facts.table.matches((name,))]
    if len(found) == 1:
        return found[0]
    names = [str(facts.table) for facts in session.roll.tables]
    if found:
        reason = f"{name!r} could be {' or '.join(str(facts.table) for facts in found)}"
    else:
        near = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(
            f"public.{name}", names, 1
        )
        guess = f"; did you mean {near[0]}?" if near else ""
        reason = f"{name!r} is not a captured table{guess}"
    raise ConfigError("backfill-table", reason, where=session.where)


def _check(session: Session, connection: psycopg.Connection, facts: TableFacts) -> None:
    if not facts.key:
        raise ConfigError("backfill-no-key", f"{facts.table} has no key", where=session.where)
    found = read_publication(connection, session.config.publication)
    if found is None or not found.sends(facts.table):
        raise ConfigError(
            "backfill-table",
            f"{facts.table} is not published, so not captured",
            where=session.where,
        )
    if not facts.leaves:
        raise ConfigError("backfill-table", f"{facts.table} has no partition", where=session.where)


def _owed(place: Place) -> SnapshotPlace:
    if place.snapshot is None:
        raise StateError("backfill-none", "no rows are owed")
    return place.snapshot


def _without(
    session: Session, connection: psycopg.Connection, owed: SnapshotPlace, wish: Wish
) -> SnapshotPlace | None:
    """Without what was asked for; rows that nobody asked for are owed to the log itself."""
    meant = _meant(session, connection, owed, wish.table)
    kept = [table for table in owed.pending if table.command is None or table.oid not in meant]
    if len(kept) == len(owed.pending):
        raise StateError("backfill-none", "none of the rows that are owed were asked for")
    return owed.with_tables(kept)


def _meant(
    session: Session, connection: psycopg.Connection, owed: SnapshotPlace, name: str | None
) -> set[int]:
    """The owed tables of a name, which may be that of one partition or of all; or every one."""
    oids = {table.oid for table in owed.pending}
    if name is None:
        return oids
    stored = stored_tables(connection, list(oids))
    own = {each.oid for each in stored if each.table.matches((name,))}
    whole = (facts.leaves for facts in session.roll.tables if facts.table.matches((name,)))
    return own.union(*whole)
