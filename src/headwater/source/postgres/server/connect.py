"""Connections with pinned session settings, and PostgreSQL's errors as ours.

Every session pins what changes how values are written, so that a snapshot and the stream agree
character for character whatever the role, the database or the server is set to. Row security is
off: a policy that hides rows is then an error and not a snapshot with holes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headwater.errors import (
    ConfigError,
    GapError,
    HeadwaterError,
    MachineError,
    TransientError,
)
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.names import literal
from headwater.source.postgres.server.refusal import refusal_code

_PINNED = {
    "DateStyle": "ISO,YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "search_path": "pg_catalog",
    "row_security": "off",
    "client_min_messages": "warning",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
# Unknown to older servers, which would refuse to set them.
_PINNED_SINCE = ((140000, "idle_session_timeout"), (170000, "transaction_timeout"))
# Kerberos encryption is used where it is asked for; tried by itself it would cost a round trip.
_TRANSPORT = {"gssencmode": "disable"}
_TCP = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

_REASON_TIMEOUT_S = 10.0

# How a replication connection is refused where an ordinary one is not: by a server that has no
# entry for it, and by poolers that do not know it. None of it passes.
_NO_REPLICATION = frozenset({"0A000", "08P01", "28000"})

# By SQLSTATE, then by its class (the first two characters).
_KINDS: dict[str, tuple[type[HeadwaterError], str]] = {
    "08": (TransientError, "postgres-unreachable"),
    "25006": (ConfigError, "postgres-read-only"),
    "28": (ConfigError, "postgres-auth"),
    "3D000": (ConfigError, "postgres-no-database"),
    "40": (TransientError, "postgres-busy"),
    "42501": (ConfigError, "postgres-privilege"),
    "53": (TransientError, "postgres-busy"),
    "53400": (MachineError, "postgres-limit"),
    "55006": (TransientError, "postgres-slot-active"),
    "55P03": (TransientError, "postgres-busy"),
    "57014": (TransientError, "postgres-busy"),
    "57P": (TransientError, "postgres-unreachable"),
    "58P01": (GapError, "postgres-wal-lost"),
}
# The client's own words, which have no code. A broken socket reads "SSL SYSCALL": that is no TLS
# problem.
_TLS = re.compile(r"\bSSL(?! SYSCALL)|certificate|\bTLS", re.IGNORECASE)


def connect(config: PostgresSourceConfig, purpose: str) -> psycopg.Connection:
    """An ordinary connection in autocommit mode; `purpose` shows in pg_stat_activity."""
    return _open(config, purpose, {})


def replication_connection(config: PostgresSourceConfig) -> psycopg.Connection:
    """A connection that takes replication commands beside plain SQL."""
    try:
        # Making a slot waits for transactions as it would for locks, however long they run.
        return _open(config, "stream", {"replication": "database"}, lock_timeout_ms=0)
    except TransientError as error:
        # A server that is full of readers lets one go some day; one that allows none never does.
        if error.code == "postgres-busy" and not _allows_senders(config):
            raise ConfigError(
                "postgres-no-replication", "max_wal_senders is 0", where=place(config)
            ) from error
        raise


def unhurried_connection(config: PostgresSourceConfig) -> psycopg.Connection:
    """An ordinary connection that makes and reads a slot: it waits as long as it takes."""
    return _open(config, "stream", {}, lock_timeout_ms=0)


def place(config: PostgresSourceConfig) -> str:
    """Where the database is, in words that hold no secret (INV-12)."""
    given = _parameters(config)
    host = given.get("host") or given.get("hostaddr") or "localhost"
    return f"{host}:{given.get('port', 5432)}/{given.get('dbname', given.get('user', ''))}"


@contextmanager
def translated(where: str = "", fix: str = "") -> Iterator[None]:
    """Turn psycopg's errors into coded ones that say what the caller can do.

    `fix` is the SQL that gives the rights which the block needs.
    """
    try:
        yield
    except psycopg.Error as exc:
        raise _coded(exc, exc.sqlstate, where, fix) from exc


def _open(
    config: PostgresSourceConfig,
    purpose: str,
    extra: dict[str, str],
    *,
    lock_timeout_ms: int = 30_000,
) -> psycopg.Connection:
    given = _parameters(config)
    where = place(config)
    ours = {
        **{name: str(given.get(name, value)) for name, value in (_TCP | _TRANSPORT).items()},
        "connect_timeout": str(given.get("connect_timeout", config.connect_timeout_s)),
        "application_name": f"headwater-{purpose}",
        "client_encoding": "UTF8",
        **extra,
    }
    conninfo = make_conninfo("", **(given | ours))
    try:
        connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)
    except psycopg.Error as exc:
        state = exc.sqlstate or _reason(exc, conninfo)
        failure = _coded(exc, state, where, "")
        if "replication" in extra and state in _NO_REPLICATION:
            failure = ConfigError("postgres-no-replication", failure.message, where=where)
    else:
        try:
            with translated(where):
                _pin(connection, lock_timeout_ms)
        except HeadwaterError:
            connection.close()
            raise
        return connection
    # Outside the handler, so that no cause hangs on: the driver's error holds the password.
    raise failure


def _allows_senders(config: PostgresSourceConfig) -> bool:
    with connect(config, "limits") as connection, translated(place(config)):
        return connection.execute("SHOW max_wal_senders").fetchone() != ("0",)


def _reason(exc: psycopg.Error, conninfo: str) -> str | None:
    if isinstance(exc, psycopg.errors.ConnectionTimeout):
        return None  # whoever does not answer gives no reason either
    return refusal_code(conninfo, _REASON_TIMEOUT_S)


def _parameters(config: PostgresSourceConfig) -> dict[str, str]:
    """What the connection string says, and libpq's environment for what it leaves out."""
    try:
        given = {k: str(v) for k, v in conninfo_to_dict(config.dsn.reveal()).items()}
    except psycopg.Error:
        given = {"port": ""}  # libpq's message quotes the string, password and all
    # An unescaped @ or / in a password spills into the parts that messages show (INV-12).
    spilled = any("@" in given.get(part, "") for part in ("host", "port", "dbname"))
    if spilled or not re.fullmatch(r"[0-9,]+", given.get("port", "0")):
        raise ConfigError(
            "config-invalid",
            "the connection string cannot be read",
            where="source.url",
            hint="Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; in USER and PASSWORD "
            "write @ as %40, / as %2F, : as %3A and % as %25.",
        )
    return given


def _pin(connection: psycopg.Connection, lock_timeout_ms: int) -> None:
    """In SQL and not in the connection's options: a pooler may drop those without a word."""
    version = connection.info.server_version
    newer = {name: "0" for since, name in _PINNED_SINCE if version >= since}
    settings = _PINNED | newer | {"lock_timeout": str(lock_timeout_ms)}
    # One message without parameters: a replication connection takes no other.
    script = "; ".join(f"SET {name} = {literal(value)}" for name, value in settings.items())
    connection.execute(script.encode())


def _coded(exc: psycopg.Error, state: str | None, where: str, fix: str) -> HeadwaterError:
    text = exc.diag.message_primary or str(exc)
    if state is None:
        if _TLS.search(text):
            return ConfigError("postgres-tls", text, where=where)
        asked = exc.pgconn is not None and exc.pgconn.needs_password
        if asked:
            return ConfigError("postgres-auth", "the server asks for a password", where=where)
        if isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
            return TransientError("postgres-unreachable", text, where=where)
        return MachineError("postgres-server", text, where=where)
    candidates = (_KINDS.get(state[:length]) for length in (5, 3, 2))
    kind, code = next((each for each in candidates if each), (MachineError, "postgres-server"))
    hint = fix if code == "postgres-privilege" else ""
    return kind(code, f"{text} (SQLSTATE {state})", where=where, hint=hint)
