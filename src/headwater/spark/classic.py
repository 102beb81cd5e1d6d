"""Which sessions can keep tables: those with a JVM of their own process.

Tables know their position by Delta's log, which only the JVM can read. A session of Spark Connect
is a client of somebody else's JVM, and has no door to it.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from headwater.errors import ConfigError


def is_classic(session: object) -> bool:
    """Whether the JVM of a session is its own."""
    return isinstance(session, SparkSession)


def require_classic(session: object) -> None:
    """Refuse a session of Spark Connect, in words that say what to do instead."""
    if not is_classic(session):
        raise ConfigError(
            "spark-connect",
            "this is a session of Spark Connect; tables are kept by a session with its own JVM",
        )
