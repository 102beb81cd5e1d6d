"""Workers and a place for them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.scenario import Nursery, nursery
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers

# kill -9 takes the process, not the machine: what reached the kernel is kept, with or without a
# disk behind it. Memory makes every sync free.
_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def workers() -> Iterator[Nursery]:
    with nursery() as opened:
        yield opened


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Path]:
    """An empty directory, in memory where the system has such a place."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    directory = Path(tempfile.mkdtemp(prefix="headwater-chaos-", dir=_MEMORY))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def chaos_server(postgres_servers: PostgresServers) -> PostgresServer:
    """A server that sends transactions of a few hundred rows while they are in progress.

    Without fsync: its crash takes the processes, not the machine.
    """
    return postgres_servers.start(
        {"logical_decoding_work_mem": "64kB", "max_prepared_transactions": "10"}
    )


@pytest.fixture
def chaos_database(
    postgres_servers: PostgresServers, chaos_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    database = postgres_servers.database(chaos_server)
    yield database
    postgres_servers.drop(database)
