"""Fixture plugin: a real Kafka broker, loopback only.

    kafka      one broker for the whole run; its address

Topics outlive a test: each test takes topics of its own (`topic`, of fix_registry).
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_START_TIMEOUT_S = 90.0
_CLUSTER = "aGVhZHdhdGVyLXRlc3RzMQ"
# One partition: a log has one order.
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={directory}/data
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    from tools.fetch_kafka import classpath, java_command

    with tempfile.TemporaryDirectory(prefix="headwater-kafka-") as directory:
        port, controller = _free_ports()
        settings = Path(directory) / "server.properties"
        settings.write_text(
            _PROPERTIES.format(port=port, controller=controller, directory=directory)
        )
        # Lives for seconds: compiling less and collecting simply lets it start sooner.
        java = [java_command(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        java += ["-cp", classpath()]
        log = Path(directory) / "log"
        with log.open("wb") as out:
            subprocess.run(
                [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)],
                stdout=out,
                stderr=subprocess.STDOUT,
                check=True,
                timeout=_START_TIMEOUT_S,
            )
            process = subprocess.Popen(
                [*java, "kafka.Kafka", str(settings)],
                cwd=directory,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            _await(port, process, log)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """The broker listens last of all."""
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"Kafka did not start:\n{log.read_text()[-2000:]}")
