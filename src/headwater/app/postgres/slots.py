"""Replication slots of a server: what holds its log back, and how to let go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.app.postgres.target import target
from headwater.app.postgres_settings import driver
from headwater.app.suggest import closest
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.source.postgres.server.slot import SlotFacts


def slots(where: str) -> dict[str, Any]:
    """Every slot of the server, as plain values; `own` is the configured one."""
    config = target(where)
    with driver():
        from headwater.source.postgres.server.connect import connect, place
        from headwater.source.postgres.server.slot import list_slots
    with connect(config, "slots") as connection:
        found = list_slots(connection)
    return {
        "server": place(config),
        "own": config.slot,
        "slots": [slot_facts(each) for each in found],
    }


def drop(where: str, name: str) -> dict[str, Any]:
    """Drop a slot; the server refuses while somebody reads from it."""
    config = target(where)
    with driver():
        from headwater.source.postgres.server.connect import connect, place
        from headwater.source.postgres.server.slot import drop_slot, list_slots
    with connect(config, "slots") as connection:
        known = {slot.name: slot for slot in list_slots(connection)}
        if name not in known or not drop_slot(connection, name):
            near = closest(name, known)
            raise ConfigError(
                "slot-unknown",
                f"the server has no slot {name!r}",
                where=place(config),
                hint=f"did you mean {near}?" if near else "",
            )
    return {"server": place(config), "dropped": slot_facts(known[name])}


def slot_facts(slot: SlotFacts) -> dict[str, Any]:
    """A slot as plain values."""
    from headwater.source.postgres.lsn import format_lsn

    def shown(lsn: int | None) -> str | None:
        return None if lsn is None else format_lsn(lsn)

    return {
        "name": slot.name,
        "database": slot.database,
        "plugin": slot.plugin,
        "pid": slot.active_pid,
        "read_by": slot.active_by,
        "retained_bytes": slot.retained_bytes,
        "safe_wal_bytes": slot.safe_wal_size,
        "wal_status": slot.wal_status,
        "lost": slot.is_lost,
        "invalidation": slot.invalidation,
        "confirmed": shown(slot.confirmed_flush_lsn),
        "restart": shown(slot.restart_lsn),
        "temporary": slot.temporary,
        "two_phase": slot.two_phase,
        "failover": slot.failover,
    }
