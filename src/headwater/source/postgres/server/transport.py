"""Which way the slot is read: over a replication connection, or by SQL where none can be had.

Only a refusal that will not pass makes it SQL: a server that is full or starting up is asked again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import psycopg

from headwater.errors import ConfigError
from headwater.source.postgres.config import PostgresSourceConfig, Transport
from headwater.source.postgres.server.connect import (
    place,
    replication_connection,
    unhurried_connection,
)

_LOG = logging.getLogger("headwater.source.postgres")
COST = (
    "each look decodes the server's log again from the oldest open transaction on, changes come "
    "later, and a large transaction goes through the server's temporary files"
)


@dataclass(frozen=True, slots=True)
class Link:
    """A connection to read the slot over; `replication` says in which of the two ways."""

    connection: psycopg.Connection
    replication: bool


def open_link(config: PostgresSourceConfig) -> Link:
    """Connect in the configured way; by default by SQL only if replication is refused for good."""
    if config.transport is Transport.SQL:
        return Link(unhurried_connection(config), replication=False)
    try:
        return Link(replication_connection(config), replication=True)
    except ConfigError as error:
        if config.transport is Transport.REPLICATION or error.code != "postgres-no-replication":
            raise
        _LOG.warning(
            "no replication connection: the slot is read by SQL, and %s",
            COST,
            extra={"code": error.code, "reason": error.message, "where": place(config)},
        )
    return Link(unhurried_connection(config), replication=False)
