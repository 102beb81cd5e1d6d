"""Looking after the slot while capture runs: the log it holds back, heartbeats, tables that come.

A server keeps its write-ahead log until the slot has confirmed it. On a database where nothing that
is captured changes, only a heartbeat lets the slot move; and someone must notice when it does not.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg

from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.server.facts import ServerFacts
from headwater.source.postgres.server.slot import SlotFacts, read_slot

_LOG = logging.getLogger("headwater.source.postgres")
# What others write is worth a heartbeat of ours only in bulk; a heartbeat itself is 100 bytes.
_HEARTBEAT_AFTER_BYTES = 1024 * 1024
_WARN_SHARE, _ALARM_SHARE = 0.5, 0.8
_WARN_BYTES, _ALARM_BYTES = 8 * 1024**3, 64 * 1024**3

_TABLES = """
SELECT count(*), sum(xmin::text::bigint),
       (SELECT sum(xmin::text::bigint) FROM pg_index),  -- a key lets a table be published
       (SELECT sum(xmin::text::bigint) FROM pg_publication_rel),
       (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
             ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint
FROM pg_class WHERE relkind IN ('r', 'p') AND relpersistence = 'p'
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found. `tables_changed`: also if they are published otherwise than before."""

    gauges: Mapping[str, float]
    tables_changed: bool


class Watch:
    """Looks at the server from time to time, over a connection of its own."""

    def __init__(
        self, connection: psycopg.Connection, config: PostgresSourceConfig, server: ServerFacts
    ) -> None:
        self._connection = connection
        self._config = config
        self._server = server
        self._next_at = 0.0
        self._tables: tuple[int | None, ...] = ()
        self._level = 0

    def due(self) -> bool:
        """Whether it is time to look."""
        return time.monotonic() >= self._next_at

    def look(self, confirmed_lsn: int) -> Seen:
        """Look now. `confirmed_lsn` is where the log stands."""
        self._next_at = time.monotonic() + self._config.heartbeat_interval_s
        with translated(self._config.slot):
            row = self._connection.execute(_TABLES).fetchone()
            *tables, lsn = row or (0,)
            slot = read_slot(self._connection, self._config.slot)
            behind = max(0, lsn - confirmed_lsn)
            if behind > _HEARTBEAT_AFTER_BYTES and not self._server.in_recovery:
                self._connection.execute(
                    "SELECT pg_logical_emit_message(false, 'headwater.heartbeat', '')"
                )
        before, self._tables = self._tables, tuple(tables)
        gauges = {"lag_bytes": float(behind)}
        if slot is not None:
            gauges |= self._slot_gauges(slot)
        return Seen(gauges, tables_changed=before != self._tables)

    def _slot_gauges(self, slot: SlotFacts) -> dict[str, float]:
        retained = slot.retained_bytes or 0
        self._warn(retained)
        gauges = {"slot_retained_bytes": float(retained)}
        if slot.safe_wal_size is not None:
            gauges["slot_safe_bytes"] = float(slot.safe_wal_size)
        return gauges

    def _warn(self, retained: int) -> None:
        """Say it once for each level, and again when it got worse."""
        limit = self._server.max_slot_wal_keep_bytes
        level = level_of(retained, limit)
        if level > self._level:
            _LOG.log(
                logging.ERROR if level > 1 else logging.WARNING,
                "the slot holds back write-ahead log on the server",
                extra={"slot": self._config.slot, "retained_bytes": retained, "limit": limit},
            )
        self._level = level


def level_of(retained: int, limit: int | None) -> int:
    """0 is fine, 1 worth a warning, 2 an alarm; `limit` is where the server gives the slot up."""
    warn, alarm = _WARN_BYTES, _ALARM_BYTES
    if limit:
        warn, alarm = int(limit * _WARN_SHARE), int(limit * _ALARM_SHARE)
    return (retained >= warn) + (retained >= alarm)
