"""PgBouncer before a PostgreSQL server: often the only way in, and no way to replication."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.postgres_server import PASSWORDS, PostgresServer, as_server_user, own_to_server, run
from tools.fetch_postgres import cache_directory

_PACKAGES = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
_CONFIG = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = session
default_pool_size = 50
server_reset_query = DISCARD ALL
"""
_START_TIMEOUT_S = 20.0


def pooler_binary() -> Path | None:
    """The installed program, or Debian's, unpacked and not installed; None if there is neither."""
    installed = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if installed is not None:
        return Path(installed)
    home = cache_directory().parent / "pgbouncer"
    if not home.exists() and shutil.which("apt-get") is not None:
        try:
            _unpack(home)
        except RuntimeError:
            return None
    found = home / "usr" / "sbin" / "pgbouncer"
    return found if found.exists() else None


def _unpack(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home.parent) as directory:
        work, root = Path(directory), Path(directory) / "root"
        download = f"cd {work} && apt-get download -qq {' '.join(_PACKAGES)}"
        run(["sh", "-c", download])
        for package in work.glob("*.deb"):
            run(["dpkg-deb", "-x", str(package), str(root)])
        root.chmod(0o755)
        root.rename(home)


@dataclass(slots=True)
class Pooler:
    """One running pooler."""

    directory: Path
    port: int
    _process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, binary: Path, server: PostgresServer) -> Pooler:
        """Before a server, on a free port."""
        directory = own_to_server(Path(tempfile.mkdtemp(prefix="hw-pooler-", dir="/tmp")))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        users, config = directory / "users", directory / "config"
        users.write_text("".join(f'"{user}" "{word}"\n' for user, word in PASSWORDS.items()))
        config.write_text(_CONFIG.format(server=server.port, port=port, users=users))
        libraries = ":".join(str(each) for each in binary.parents[1].glob("lib/*-linux-gnu"))
        with (directory / "log").open("ab") as log:
            process = subprocess.Popen(
                as_server_user(binary, own_to_server(config)),
                env={**os.environ, "LD_LIBRARY_PATH": libraries},
                stdout=log,
                stderr=log,
            )
        pooler = cls(directory, port, process)
        pooler._wait()
        return pooler

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the pooler does not start:\n{(self.directory / 'log').read_text()}")

    def stop(self) -> None:
        """End it and delete its directory."""
        self._process.terminate()
        self._process.wait(_START_TIMEOUT_S)
        shutil.rmtree(self.directory)
