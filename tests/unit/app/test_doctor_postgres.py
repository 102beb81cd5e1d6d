"""What the checks make of a PostgreSQL database; the facts are written down, not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.app.doctor.postgres.facts import OldTransaction, PostgresFacts, RoleFacts
from headwater.app.doctor.postgres.failover import failover_checks
from headwater.app.doctor.postgres.publication import publication_checks
from headwater.app.doctor.postgres.role import role_checks
from headwater.app.doctor.postgres.server import server_checks
from headwater.app.doctor.postgres.slot import slot_checks
from headwater.app.doctor.postgres.tables import table_checks
from headwater.app.doctor.postgres.transport import transport_checks
from headwater.app.finding import Finding
from headwater.errors import CATALOG, ConfigError, TransientError
from headwater.event import TableId
from headwater.secret import Secret
from headwater.source.postgres import PostgresSourceConfig
from headwater.source.postgres.config import Transport
from headwater.source.postgres.place import Place
from headwater.source.postgres.server.catalog import ColumnFacts, TableFacts
from headwater.source.postgres.server.facts import ServerFacts
from headwater.source.postgres.server.publication import PublicationFacts
from headwater.source.postgres.server.slot import SlotFacts

GIB = 1 << 30
ORDERS = TableId("public", "orders")

SLOT = SlotFacts(
    name="headwater_shop",
    plugin="pgoutput",
    database="shop",
    temporary=False,
    two_phase=False,
    failover=True,
    active_pid=None,
    active_by="",
    restart_lsn=900,
    confirmed_flush_lsn=1000,
    wal_status="reserved",
    safe_wal_size=None,
    invalidation=None,
    retained_bytes=100,
)
TABLE = TableFacts(
    oid=1,
    table=ORDERS,
    partitioned=False,
    readable=True,
    columns=(ColumnFacts("id", 1, 23, -1, False, False, "integer"),),
    primary_key=("id",),
    identity="d",
    identity_columns=("id",),
    has_identity=True,
    foreign_keys=(),
    leaves=(1,),
    estimated_rows=1,
    pages=1,
    numbers_given=1,
)
SERVER = ServerFacts(
    version_num=180001,
    system_identifier="7",
    timeline=1,
    switches=(),
    wal_level="logical",
    database="shop",
    database_oid=5,
    max_slot_wal_keep_bytes=10 * GIB,
    wal_sender_timeout_ms=60_000,
    in_recovery=False,
    wal_lsn=1000,
)
PUBLICATION = PublicationFacts(
    name="headwater_shop",
    all_tables=False,
    complete=True,
    entries={ORDERS: 1},
    partial=frozenset(),
    published=frozenset({ORDERS}),
)
SOUND = PostgresFacts(
    config=PostgresSourceConfig(
        dsn=Secret(""), slot="headwater_shop", publication="headwater_shop"
    ),
    where="db:5432/shop",
    server=SERVER,
    settings={
        "max_replication_slots": "10",
        "max_wal_senders": "10",
        "idle_replication_slot_timeout": "0",
        "synchronized_standby_slots": "standby_1",
    },
    role=RoleFacts("capture", False, True, True, "TLSv1.3", "10.0.0.7"),
    senders=2,
    standbys=1,
    slots=(SLOT,),
    publication=PUBLICATION,
    tables=(TABLE,),
    unlogged=(),
    guarded=frozenset(),
    oldest=None,
    log_readable=True,
    resume=Place(system="7", timeline=1, slot="headwater_shop", lsn=1000),
    running=False,
)


def findings(**changes: Any) -> list[Finding]:
    facts = replace(SOUND, **changes)
    checks = (server_checks, role_checks, table_checks, publication_checks, slot_checks)
    more = (transport_checks, failover_checks)
    found = [each for check in (*checks, *more) for each in check(facts)]
    assert all(not each.code or each.code in CATALOG for each in found)
    return found


def complaints(**changes: Any) -> list[tuple[str, str, str]]:
    wrong = [each for each in findings(**changes) if each.severity in {"warning", "error"}]
    assert all(each.code and each.fix for each in wrong), "a complaint has a code and a fix"
    return [(each.check, each.severity, each.code) for each in wrong]


CLOSED = ConfigError("postgres-no-replication", "max_wal_senders is 0")
FULL = TransientError("postgres-busy", "too many")


def transport(wanted: Transport) -> PostgresSourceConfig:
    return replace(SOUND.config, transport=wanted)


def slot(**changes: Any) -> tuple[SlotFacts, ...]:
    return (replace(SLOT, **changes),)


def test_nothing_is_found_when_everything_is_sound() -> None:
    assert complaints() == []
    assert {each.severity for each in findings()} == {"ok"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"server": replace(SERVER, version_num=130010), "standbys": 0},
            ("server", "error", "postgres-version"),
        ),
        (
            {"server": replace(SERVER, wal_level="replica")},
            ("wal_level", "error", "postgres-wal-level"),
        ),
        (
            {"server": replace(SERVER, wal_sender_timeout_ms=5000)},
            ("wal_sender_timeout", "warning", "postgres-timeout"),
        ),
        (
            {"settings": {**SOUND.settings, "idle_replication_slot_timeout": "3600"}},
            ("idle_replication_slot_timeout", "warning", "postgres-timeout"),
        ),
        (
            {"senders": 10},
            ("max_wal_senders", "error", "postgres-limit"),
        ),
        (
            {"slots": tuple(replace(SLOT, name=f"s{n}") for n in range(10)), "resume": None},
            ("max_replication_slots", "error", "postgres-limit"),
        ),
        (
            {"role": replace(SOUND.role, tls=False)},
            ("encryption", "warning", "postgres-plaintext"),
        ),
        (
            {"role": replace(SOUND.role, replication=False)},
            ("role", "error", "postgres-privilege"),
        ),
        (
            {"role": replace(SOUND.role, superuser=True)},
            ("role", "warning", "postgres-superuser"),
        ),
        (
            {"tables": (replace(TABLE, readable=False),)},
            ("rights", "error", "postgres-privilege"),
        ),
        ({"guarded": frozenset({1})}, ("rights", "error", "postgres-privilege")),
        ({"tables": ()}, ("tables", "error", "postgres-no-table")),
        (
            {"tables": (replace(TABLE, identity="n", has_identity=False),)},
            ("replica identity", "error", "postgres-no-identity"),
        ),
        (
            {"tables": (replace(TABLE, identity="f", primary_key=()),)},
            ("keys", "warning", "postgres-no-key"),
        ),
        (
            {
                "tables": (
                    replace(TABLE, identity="f", primary_key=(), deferrable=("orders_pkey", "id")),
                )
            },
            ("deferrable keys", "warning", "postgres-deferrable-key"),
        ),
        (
            {"tables": (replace(TABLE, identity="f", columns=TABLE.columns * 30),)},
            ("replica identity", "warning", "postgres-identity-full"),
        ),
        (
            {"unlogged": (TableId("public", "cache"),)},
            ("unlogged tables", "warning", "postgres-unlogged"),
        ),
        ({"refusal": CLOSED}, ("transport", "warning", "postgres-no-replication")),
        (
            {"refusal": CLOSED, "config": transport(Transport.REPLICATION)},
            ("transport", "error", "postgres-no-replication"),
        ),
        ({"refusal": FULL}, ("transport", "warning", "postgres-busy")),
        ({"publication": None}, ("publication", "warning", "postgres-publication")),
        (
            {"publication": replace(PUBLICATION, partial=frozenset({ORDERS}))},
            ("publication", "warning", "postgres-publication"),
        ),
        (
            {"publication": replace(PUBLICATION, complete=False)},
            ("publication", "warning", "postgres-publication"),
        ),
        ({"slots": ()}, ("slot", "error", "postgres-slot-missing")),
        ({"resume": None}, ("slot", "error", "postgres-slot-exists")),
        ({"slots": slot(two_phase=True)}, ("slot", "error", "postgres-two-phase")),
        ({"slots": slot(wal_status="lost")}, ("slot", "error", "postgres-wal-lost")),
        ({"slots": slot(confirmed_flush_lsn=1001)}, ("slot", "error", "source-gap")),
        (
            {"slots": slot(active_pid=7, active_by="process 7 (psql)")},
            ("slot", "warning", "postgres-slot-active"),
        ),
        (
            {"resume": replace(SOUND.resume or Place("", 0, ""), system="8")},
            ("slot", "error", "postgres-other-server"),
        ),
        (
            {"slots": slot(retained_bytes=5 * GIB)},
            ("retained log", "warning", "postgres-wal-retained"),
        ),
        (
            {"slots": slot(retained_bytes=8 * GIB)},
            ("retained log", "error", "postgres-wal-retained"),
        ),
        (
            {"server": replace(SERVER, max_slot_wal_keep_bytes=None)},
            ("max_slot_wal_keep_size", "warning", "postgres-wal-unlimited"),
        ),
        (
            {"oldest": OldTransaction("process 7", 7200.0, "SELECT pg_terminate_backend(7)")},
            ("old transaction", "warning", "postgres-old-transaction"),
        ),
        (
            {
                "slots": slot(confirmed_flush_lsn=2 * GIB),
                "resume": Place("7", 1, "headwater_shop", lsn=2 * GIB),
                "server": replace(SERVER, wal_lsn=2 * GIB),
            },
            ("old transaction", "warning", "postgres-old-transaction"),
        ),
        ({"slots": slot(failover=False)}, ("failover", "warning", "postgres-failover")),
        (
            {"settings": {**SOUND.settings, "synchronized_standby_slots": ""}},
            ("failover", "warning", "postgres-failover"),
        ),
        (
            {"server": replace(SERVER, version_num=160003)},
            ("failover", "warning", "postgres-failover"),
        ),
    ],
)
def test_one_thing_is_found_when_one_thing_is_wrong(
    changes: dict[str, Any], complaint: tuple[str, str, str]
) -> None:
    assert complaints(**changes) == [complaint]


def test_slot_is_sound_when_the_running_pipeline_reads_it() -> None:
    reader = slot(active_pid=7, active_by="process 7 (headwater-stream)")
    assert complaints(slots=reader, running=True) == []


def test_slot_is_left_alone_when_the_log_cannot_be_read() -> None:
    assert complaints(log_readable=False, resume=None) == []


def test_publication_is_an_error_when_it_is_missing_and_may_not_be_made() -> None:
    strict = replace(SOUND.config, create=False)
    assert complaints(publication=None, config=strict) == [
        ("publication", "error", "postgres-publication")
    ]


def test_fix_makes_the_key_anew_when_it_is_deferrable() -> None:
    table = replace(TABLE, primary_key=(), deferrable=("orders_pkey", "id", "no"))
    sound = replace(table, identity="f")
    (warning,) = [each for each in findings(tables=(sound,)) if each.severity == "warning"]
    assert warning.fix == (
        'ALTER TABLE "public"."orders" DROP CONSTRAINT "orders_pkey", ADD PRIMARY KEY ("id", "no");'
    )
    refusing = replace(table, has_identity=False)
    told = [each.evidence for each in findings(tables=(refusing,))]
    assert any("only a DEFERRABLE primary key" in each for each in told)


def test_fix_is_the_statement_when_a_table_is_missing_from_the_publication() -> None:
    bare = replace(PUBLICATION, entries={}, published=frozenset())
    (found,) = [each for each in findings(publication=bare) if each.check == "publication"]
    assert found.fix == 'ALTER PUBLICATION "headwater_shop" ADD TABLE ONLY "public"."orders";'


def test_limits_are_sound_when_full_of_ourselves() -> None:
    reader = slot(active_pid=7, active_by="process 7 (headwater-stream)")
    assert complaints(slots=reader, running=True, senders=10) == []


def test_senders_are_not_missed_when_the_slot_is_read_by_sql() -> None:
    none = {"settings": {**SOUND.settings, "max_wal_senders": "0"}, "senders": 0}
    impatient = {"server": replace(SERVER, wal_sender_timeout_ms=1000)}
    assert complaints(config=transport(Transport.SQL), **none, **impatient) == []
    (found,) = [
        each for each in findings(config=transport(Transport.SQL)) if each.check == "transport"
    ]
    assert found.evidence.startswith("by SQL, as source.transport says: each look decodes")
    assert complaints(refusal=CLOSED, **none, **impatient) == [
        ("transport", "warning", "postgres-no-replication")
    ]
