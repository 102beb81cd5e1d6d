"""Encryption and certificates, with an authority of our own; libpq's own settings in the URL."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headwater.errors import ConfigError
from headwater.secret import Secret
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.server.connect import connect, replication_connection
from tests.fix_postgres import PASSWORDS, PostgresServer, PostgresServers, own_to_server


@dataclass(frozen=True)
class Authority:
    """Signs certificates into one directory."""

    directory: Path
    name: str

    @property
    def root(self) -> Path:
        return self.directory / f"{self.name}.crt"

    def make(self) -> Authority:
        self._openssl("req", "-x509", "-subj", f"/CN={self.name}", *self._new_key(self.name))
        return self

    def sign(self, common_name: str) -> tuple[Path, Path]:
        """A certificate of that name and its key."""
        issuer = ["-CA", str(self.root), "-CAkey", str(self.root.with_suffix(".key"))]
        extra = ["-addext", f"subjectAltName=DNS:{common_name}"]
        subject = f"/CN={common_name}"
        self._openssl(
            "req", "-x509", "-subj", subject, *issuer, *extra, *self._new_key(common_name)
        )
        certificate = self.directory / f"{common_name}.crt"
        return certificate, certificate.with_suffix(".key")

    def _new_key(self, name: str) -> list[str]:
        path = self.directory / name
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        return [*key, "-keyout", f"{path}.key", "-out", f"{path}.crt", "-days", "2"]

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "authority").make()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("theirs"), "stranger").make()


@pytest.fixture(scope="module")
def tls_server(postgres_servers: PostgresServers, ours: Authority) -> Iterator[PostgresServer]:
    server = postgres_servers.start()
    certificate, key = ours.sign("localhost")
    settings = {"ssl": "on"}
    for setting, path in (
        ("ssl_cert_file", certificate),
        ("ssl_key_file", key),
        ("ssl_ca_file", ours.root),
    ):
        copy = server.directory / path.name
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        settings[setting] = str(own_to_server(copy))
    server.configure(settings)
    server.sql("CREATE ROLE bearer LOGIN REPLICATION")
    rules = server.data / "pg_hba.conf"
    rules.write_text(f"hostssl all bearer all cert\n{rules.read_text()}")
    server.restart()
    yield server
    postgres_servers.discard(server)


def _config(server: PostgresServer, user: str = "capture", **given: object) -> PostgresSourceConfig:
    settings = {"host": "localhost", "hostaddr": "127.0.0.1", "port": server.port, "user": user}
    settings |= {"dbname": "postgres", **given}
    text = " ".join(f"{name}={value}" for name, value in settings.items())
    secret = f" password={PASSWORDS[user]}" if user in PASSWORDS else ""
    return PostgresSourceConfig(dsn=Secret(text + secret))


def test_server_is_verified_and_the_password_bound_to_the_channel(
    tls_server: PostgresServer, ours: Authority
) -> None:
    config = _config(
        tls_server, sslmode="verify-full", sslrootcert=ours.root, channel_binding="require"
    )
    with connect(config, "test") as ordinary, replication_connection(config) as replication:
        assert ordinary.pgconn.ssl_in_use
        assert replication.pgconn.ssl_in_use


def test_server_of_a_strange_authority_is_refused(
    tls_server: PostgresServer, theirs: Authority
) -> None:
    config = _config(tls_server, sslmode="verify-full", sslrootcert=theirs.root)
    with pytest.raises(ConfigError) as caught:
        connect(config, "test")
    assert caught.value.code == "postgres-tls"
    assert PASSWORDS["capture"] not in str(caught.value)


def test_server_of_another_name_is_refused(tls_server: PostgresServer, ours: Authority) -> None:
    config = _config(tls_server, host="db.example", sslmode="verify-full", sslrootcert=ours.root)
    with pytest.raises(ConfigError) as caught:
        connect(config, "test")
    assert caught.value.code == "postgres-tls"


def test_server_without_tls_is_refused_when_it_is_required(postgres_server: PostgresServer) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(_config(postgres_server, sslmode="require"), "test")
    assert caught.value.code == "postgres-tls"


def test_client_certificate_stands_in_for_a_password(
    tls_server: PostgresServer, ours: Authority
) -> None:
    certificate, key = ours.sign("bearer")
    config = _config(
        tls_server,
        "bearer",
        sslmode="verify-full",
        sslrootcert=ours.root,
        sslcert=certificate,
        sslkey=key,
    )
    with connect(config, "test") as ordinary, replication_connection(config) as replication:
        assert ordinary.execute("SELECT current_user").fetchone() == ("bearer",)
        assert replication.pgconn.ssl_in_use


def test_client_without_its_certificate_is_an_authentication_error(
    tls_server: PostgresServer, ours: Authority
) -> None:
    config = _config(tls_server, "bearer", sslmode="verify-full", sslrootcert=ours.root)
    with pytest.raises(ConfigError) as caught:
        connect(config, "test")
    assert caught.value.code == "postgres-auth"


def test_client_certificate_of_a_strange_authority_is_refused(
    tls_server: PostgresServer, ours: Authority, theirs: Authority
) -> None:
    certificate, key = theirs.sign("bearer")
    config = _config(tls_server, "bearer", sslrootcert=ours.root, sslcert=certificate, sslkey=key)
    with pytest.raises(ConfigError) as caught:
        connect(config, "test")
    assert caught.value.code == "postgres-tls"
