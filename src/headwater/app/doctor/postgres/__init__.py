"""A PostgreSQL source before it runs, and while it runs.

facts.py reads everything once; the others judge what it found, without a connection: server.py
the server and its limits, role.py rights and encryption, tables.py what the tables can tell,
slot.py the slot and its log, transport.py how it is read, publication.py what is sent, failover.py
whether a standby could take over.
"""

from __future__ import annotations

from headwater.app.config import Config
from headwater.app.doctor.postgres.failover import failover_checks
from headwater.app.doctor.postgres.publication import publication_checks
from headwater.app.doctor.postgres.role import role_checks
from headwater.app.doctor.postgres.server import server_checks
from headwater.app.doctor.postgres.slot import slot_checks
from headwater.app.doctor.postgres.tables import table_checks
from headwater.app.doctor.postgres.transport import transport_checks
from headwater.app.finding import Finding
from headwater.app.options import source_options
from headwater.app.postgres_settings import driver, postgres_config
from headwater.errors import HeadwaterError

__all__ = ["postgres_checks"]


def postgres_checks(config: Config) -> list[Finding]:
    """Findings about the database of a pipeline; without a connection there is only one."""
    try:
        settings = postgres_config(config.source.url, source_options(config))
        with driver():
            from headwater.app.doctor.postgres.facts import read_facts
        facts = read_facts(settings, config.log.path)
    except HeadwaterError as exc:
        return [Finding.of("database", exc)]
    checks = (
        server_checks,
        role_checks,
        table_checks,
        publication_checks,
        slot_checks,
        transport_checks,
        failover_checks,
    )
    return [finding for check in checks for finding in check(facts)]
