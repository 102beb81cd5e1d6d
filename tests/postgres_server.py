"""One PostgreSQL server in a directory of its own, loopback only: started, stopped, killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

PASSWORDS = {"postgres": "super-pw-7Hq", "app": "app-pw-93K", "capture": "capture-pw-x4Z"}
START_TIMEOUT_S = 60.0


def installed_binaries() -> Path:
    """The newest server that the machine has installed; installs Debian's where it may."""
    found = list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return max(found, key=lambda path: int(path.parts[-3])).parent
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise RuntimeError("no PostgreSQL server. Run: sudo apt-get install postgresql-15")
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql-15"])
    return Path("/usr/lib/postgresql/15/bin")


def run(command: Sequence[str], text: str = "") -> None:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed:\n{done.stdout}\n{done.stderr}")


def as_server_user(*command: str | Path) -> list[str]:
    """PostgreSQL refuses to run as root; and a test run that is killed takes its servers along."""
    user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    # The signal follows the starting thread: one that comes and goes must not ask for it.
    lasting = threading.current_thread() is threading.main_thread()
    death = ["--pdeathsig", "INT"] if lasting else []
    prefix = ["setpriv", *user, *death] if user or death else []
    return [*prefix, *map(str, command)]


def own_to_server(path: Path) -> Path:
    """Give a file or directory to the user that the servers run as."""
    if os.geteuid() == 0:
        shutil.chown(path, "postgres", "postgres")
    return path


@dataclass(slots=True)
class PostgresServer:
    """One server: `directory` holds its data, socket and log."""

    binaries: Path
    directory: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The cluster's data directory."""
        return self.directory / "data"

    def configure(self, settings: Mapping[str, str]) -> None:
        """Append settings; a restart makes all of them effective."""
        with (self.data / "postgresql.conf").open("a") as file:
            for name, value in settings.items():
                quoted = value.replace("'", "''")
                file.write(f"{name} = '{quoted}'\n")

    def start(self) -> None:
        """Start on a free port (the same one ever after) and wait until it takes connections."""
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._try_start(deadline):
            time.sleep(0.1)  # a killed server's children still hold its memory for a moment

    def _try_start(self, deadline: float) -> bool:
        options = ["-D", str(self.data), "-p", str(self.port), "-k", str(self.directory)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                as_server_user(self.binaries / "postgres", *options), stdout=log, stderr=log
            )
        while self._process.poll() is None:
            if self._ready(self._process.pid):
                return True
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server does not get ready:\n{self.log()}")
            time.sleep(0.02)
        if time.monotonic() > deadline or "still in use" not in self.log():
            raise RuntimeError(f"the server does not start:\n{self.log()}")
        return False

    def _ready(self, pid: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(START_TIMEOUT_S)
            self._process = None

    def stop(self) -> None:
        """Shut down in order, ending every connection."""
        self._signal(signal.SIGINT)

    def crash(self) -> None:
        """End at once without a checkpoint: the next start recovers from the log."""
        self._signal(signal.SIGQUIT)

    def kill(self) -> None:
        """SIGKILL to the main process."""
        self._signal(signal.SIGKILL)

    def restart(self) -> None:
        """Stop in order and start."""
        self.stop()
        self.start()

    def log(self) -> str:
        """The end of what the server wrote."""
        return (self.directory / "log").read_text(errors="replace")[-4000:]

    def dsn(self, user: str = "capture", database: str = "postgres") -> str:
        """A connection URI over loopback TCP."""
        return f"postgresql://{user}:{PASSWORDS[user]}@127.0.0.1:{self.port}/{database}"

    def connect(self, user: str = "postgres", database: str = "postgres") -> psycopg.Connection:
        """An ordinary autocommit connection."""
        return psycopg.connect(self.dsn(user, database), autocommit=True)

    def sql(
        self, text: str, *values: object, user: str = "postgres", database: str = "postgres"
    ) -> list[tuple[Any, ...]]:
        """Run SQL (several statements if it has no values); the rows of the last statement."""
        with self.connect(user, database) as connection:
            cursor = connection.execute(text.encode(), values or None)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []
