"""Fixture plugin: a real schema registry, in memory, loopback only.

    schema_registry      one Apicurio Registry for the whole run; the URL of its Confluent interface
    guarded_registry     the same behind a door that asks for a user and a password

Subjects outlive a test: each test takes topics of its own (`topic`).
"""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

USER, PASSWORD = "producer", "registry-pw-q8T"
_PATH = "/apis/ccompat/v7"
_START_TIMEOUT_S = 60.0
_numbers = count(1)


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[str]:
    from tools.fetch_registry import java_command, program

    with tempfile.TemporaryDirectory(prefix="headwater-registry-") as directory:
        log = Path(directory) / "log"
        port = _free_port()
        # Lives for seconds: compiling less and collecting simply lets it start sooner.
        command = [java_command(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        command += ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
        command += ["-Dquarkus.http.access-log.enabled=false", f"-Djava.io.tmpdir={directory}"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, "-jar", str(program())],
                cwd=directory,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={k: v for k, v in os.environ.items() if not k.startswith("QUARKUS_")},
            )
        try:
            url = f"http://127.0.0.1:{port}{_PATH}"
            _await(url, process, log)
            yield url
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def topic() -> str:
    return f"topic{next(_numbers)}"


@dataclass(slots=True)
class Door:
    """A door before the registry. `status` answers instead of it, with `says` as the reason."""

    url: str
    asked: int = 0
    status: int | None = None
    says: str = ""
    delay_s: float = 0.0


@pytest.fixture
def guarded_registry(schema_registry: str) -> Iterator[Door]:
    wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            self._pass(None)

        def do_POST(self) -> None:
            self._pass(self.rfile.read(int(self.headers["Content-Length"])))

        def _pass(self, body: bytes | None) -> None:
            door.asked += 1
            time.sleep(door.delay_s)
            if door.status is not None:
                says = door.says.replace("{authorization}", self.headers["Authorization"] or "")
                return self._answer(door.status, says.encode())
            if self.headers["Authorization"] != wanted:
                return self._answer(401, b'{"error_code":401,"message":"Unauthorized"}')
            request = Request(f"{schema_registry}{self.path}", body)
            request.add_header("Content-Type", self.headers["Content-Type"])
            try:
                with urlopen(request) as reply:
                    return self._answer(reply.status, reply.read())
            except HTTPError as exc:
                return self._answer(exc.code, exc.read())

        def _answer(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("Content-Length", str(len(data)))
            with suppress(ConnectionError):  # whoever waited may have gone
                self.end_headers()
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    door = Door(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield door
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{url}/subjects", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the registry did not start:\n{log.read_text()[-2000:]}")
