"""Connections: pinned settings, and refusals that say what to do without telling a secret."""

from __future__ import annotations

import psycopg
import pytest

from headwater.errors import ConfigError, HeadwaterError, TransientError
from headwater.secret import Secret
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.server.connect import (
    connect,
    place,
    replication_connection,
    translated,
)
from tests.fix_postgres import PASSWORDS, PostgresDatabase, PostgresServer

PINNED = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "client_encoding": "UTF8",
    "row_security": "off",
    "client_min_messages": "warning",
    "search_path": "pg_catalog",
    "statement_timeout": "0",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
}


def _settings(connection: psycopg.Connection) -> dict[str, str]:
    found = {}
    for name in PINNED:
        row = connection.execute(f"SHOW {name}".encode()).fetchone()
        assert row is not None
        found[name] = row[0]
    return found


def _config(dsn: str, timeout_s: int = 5) -> PostgresSourceConfig:
    return PostgresSourceConfig(dsn=Secret(dsn), connect_timeout_s=timeout_s)


def _refused(config: PostgresSourceConfig) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught:
        connect(config, "test")
    return caught.value


def test_ordinary_connection_pins_every_setting_that_changes_how_values_are_written(
    postgres_database: PostgresDatabase,
) -> None:
    with connect(postgres_database.config(), "snapshot") as connection:
        assert _settings(connection) == PINNED
        assert connection.autocommit
        row = connection.execute("SHOW application_name").fetchone()
        assert row == ("headwater-snapshot",)


def test_replication_connection_pins_the_same_and_waits_for_as_long_as_it_takes(
    postgres_database: PostgresDatabase,
) -> None:
    with replication_connection(postgres_database.config()) as connection:
        assert _settings(connection) == PINNED | {"lock_timeout": "0"}
        row = connection.execute("IDENTIFY_SYSTEM").fetchone()
        assert row is not None
        assert row[3] == postgres_database.name


def test_options_of_the_connection_string_stay_but_never_win_over_pinned_ones(
    postgres_database: PostgresDatabase,
) -> None:
    options = "?options=-c%20work_mem%3D7MB%20-c%20TimeZone%3DAsia/Tokyo"
    with connect(_config(postgres_database.dsn() + options), "test") as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("7MB",)
        assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)


def test_options_of_the_environment_stay(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=9MB")
    with connect(postgres_database.config(), "test") as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("9MB",)


def test_rows_hidden_by_a_policy_are_an_error_and_not_a_smaller_result(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        "CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2);"
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (i = 1)"
    )
    with (
        connect(postgres_database.config(), "test") as connection,
        pytest.raises(ConfigError) as caught,
        translated(),
    ):
        connection.execute("SELECT * FROM public.t")
    assert caught.value.code == "postgres-privilege"


def test_wrong_password_is_a_coded_error_that_shows_no_password(
    postgres_database: PostgresDatabase,
) -> None:
    """INV-12."""
    wrong = "hush-hush-55"
    dsn = postgres_database.dsn().replace(PASSWORDS["capture"], wrong)
    error = _refused(_config(dsn))
    assert isinstance(error, ConfigError)
    assert error.code == "postgres-auth"
    assert "28P01" in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert wrong not in str(error) + repr(error) + str(error.as_dict())


def test_missing_password_is_an_authentication_error(postgres_database: PostgresDatabase) -> None:
    error = _refused(_config(postgres_database.dsn().replace(":" + PASSWORDS["capture"], "")))
    assert error.code == "postgres-auth"


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:hush/hush@127.0.0.1:5432/db",
        "postgresql://u:x@hush@127.0.0.1:5432/db",
        "postgresql://u:100%hush@127.0.0.1/db",
        "host=127.0.0.1 password = 'hush",
        "postgres:/u:hush@127.0.0.1/db",
    ],
)
def test_connection_string_that_cannot_be_read_is_never_quoted(dsn: str) -> None:
    """INV-12: a password with an unescaped @ or / spills into what libpq takes for the host."""
    error = _refused(_config(dsn))
    assert error.code == "config-invalid"
    assert "%40" in error.hint
    assert "hush" not in str(error) + str(error.__cause__) + str(error.as_dict())


def test_place_names_host_port_and_database_only(postgres_database: PostgresDatabase) -> None:
    server = postgres_database.server
    assert place(postgres_database.config()) == f"127.0.0.1:{server.port}/{postgres_database.name}"


def test_server_that_is_not_there_is_worth_a_retry() -> None:
    error = _refused(_config("postgresql://u:p@127.0.0.1:1/db"))
    assert isinstance(error, TransientError)
    assert error.code == "postgres-unreachable"


def test_unknown_database_is_a_configuration_error(postgres_server: PostgresServer) -> None:
    error = _refused(_config(postgres_server.dsn(database="nowhere")))
    assert isinstance(error, ConfigError)
    assert error.code == "postgres-no-database"


def test_full_server_is_worth_a_retry_though_the_password_was_accepted(
    postgres_server: PostgresServer,
) -> None:
    postgres_server.sql("ALTER ROLE capture CONNECTION LIMIT 0")
    try:
        error = _refused(_config(postgres_server.dsn()))
    finally:
        postgres_server.sql("ALTER ROLE capture CONNECTION LIMIT -1")
    assert isinstance(error, TransientError)
    assert error.code == "postgres-busy"


def test_connection_that_the_server_ends_is_worth_a_retry(
    postgres_database: PostgresDatabase,
) -> None:
    with connect(postgres_database.config(), "test") as connection:
        postgres_database.server.sql(
            "SELECT pg_terminate_backend(%s, 5000)", connection.info.backend_pid
        )
        for _ in range(2):  # the first hears of it, the second finds the connection closed
            with pytest.raises(TransientError) as caught, translated("here"):
                connection.execute("SELECT 1")
            assert caught.value.code == "postgres-unreachable"


def test_missing_privilege_names_the_grant_that_gives_it(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE TABLE t (i int); REVOKE ALL ON t FROM capture")
    grant = 'GRANT SELECT ON "public"."t" TO "capture"'
    with (
        connect(postgres_database.config(), "test") as connection,
        pytest.raises(ConfigError) as caught,
        translated("public.t", grant),
    ):
        connection.execute("SELECT * FROM public.t")
    assert caught.value.code == "postgres-privilege"
    assert caught.value.hint == grant
    assert caught.value.where == "public.t"


def test_lock_that_does_not_come_is_worth_a_retry(postgres_database: PostgresDatabase) -> None:
    postgres_database.sql("CREATE TABLE t (i int)")
    with (
        connect(postgres_database.config(), "test") as reader,
        postgres_database.connect() as app,
        app.transaction(),
    ):
        app.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        reader.execute("SET lock_timeout = 50")
        with pytest.raises(TransientError) as caught, translated():
            reader.execute("SELECT * FROM public.t")
    assert caught.value.code == "postgres-busy"


def test_other_errors_carry_the_servers_words_and_code(postgres_database: PostgresDatabase) -> None:
    with (
        connect(postgres_database.config(), "test") as connection,
        pytest.raises(HeadwaterError) as caught,
        translated("here"),
    ):
        connection.execute("SELECT 1 / 0")
    assert caught.value.code == "postgres-server"
    assert "division by zero (SQLSTATE 22012)" in str(caught.value)
