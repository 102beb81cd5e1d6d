"""What `headwater doctor` finds on a PostgreSQL server, and that its SQL puts it right."""

from __future__ import annotations

import pytest

from tests.fix_postgres import PASSWORDS, PostgresServers
from tests.integration.cli.conftest import PIPELINE, SHOP, Cli, Shop


def test_doctor_has_no_complaint_but_the_open_limit_when_all_is_prepared(prepared: Shop) -> None:
    before = prepared("doctor", "shop.yaml", "--json")
    assert before.code == 0
    assert prepared("run", "shop.yaml", "--once").code == 0
    found = prepared.findings()
    wrong = [name for name, each in found.items() if each["severity"] in {"warning", "error"}]
    assert [name for name in wrong if name != "max_slot_wal_keep_size"] == []
    assert "has what the log lacks" in found["slot"]["evidence"]
    assert found["role"]["severity"] == "ok"


def test_doctor_finds_what_is_wrong_and_its_sql_puts_it_right(prepared: Shop) -> None:
    database = prepared.database
    database.sql(
        "ALTER TABLE orders REPLICA IDENTITY NOTHING; REVOKE SELECT ON customers FROM capture;"
        f"ALTER PUBLICATION headwater_{database.name} DROP TABLE customers;"
        "CREATE UNLOGGED TABLE cache (id int PRIMARY KEY)"
    )
    path = prepared.cli.directory / "shop.yaml"
    path.write_text(path.read_text().replace("orders]", "orders, cache]"))
    assert prepared("doctor", "shop.yaml").code == 2
    found = prepared.findings()
    codes = {name: each["code"] for name, each in found.items() if each["severity"] != "ok"}
    assert codes["replica identity"] == "postgres-no-identity"
    assert codes["rights"] == "postgres-privilege"
    assert codes["publication"] == "postgres-publication"
    assert codes["unlogged tables"] == "postgres-unlogged"
    for check in ("replica identity", "rights", "publication"):
        database.sql(found[check]["fix"])
    database.sql(found["unlogged tables"]["fix"].partition(";")[0])
    database.sql(prepared.findings()["publication"]["fix"])  # the table that is logged now
    after = prepared("doctor", "shop.yaml")
    assert after.code == 0, after.out


def test_doctor_finds_the_gap_when_the_slot_was_made_anew(prepared: Shop) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    name = f"headwater_{prepared.database.name}"
    prepared.database.sql("SELECT pg_drop_replication_slot(%s)", name, user="capture")
    assert prepared.findings()["slot"]["code"] == "postgres-slot-missing"
    prepared.database.sql("INSERT INTO customers VALUES (3, 'Alan', '')")
    create = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
    prepared.database.sql(create, name, user="capture")
    assert prepared.findings()["slot"]["code"] == "source-gap"


@pytest.mark.parametrize(
    ("user", "password", "database", "code"),
    [
        ("capture", "wrong-pw-8Jd", None, "postgres-auth"),
        ("capture", None, "no_such_database", "postgres-no-database"),
    ],
)
def test_doctor_says_why_it_cannot_connect_when_it_cannot(
    shop: Shop, user: str, password: str | None, database: str | None, code: str
) -> None:
    port = shop.database.server.port
    name = database or shop.database.name
    url = f"postgresql://{user}:{password or PASSWORDS[user]}@127.0.0.1:{port}/{name}"
    assert shop("doctor", "shop.yaml", DATABASE_URL=url).code == 2
    assert shop.findings(DATABASE_URL=url)["database"]["code"] == code


def test_doctor_warns_of_a_server_that_cannot_be_captured(
    cli: Cli, postgres_servers: PostgresServers
) -> None:
    server = postgres_servers.start({"wal_level": "replica", "max_replication_slots": "0"})
    database = postgres_servers.database(server)
    database.sql(SHOP)
    (cli.directory / "shop.yaml").write_text(PIPELINE.replace("NAME", "shop"))
    found = Shop(cli, database).findings()
    assert found["wal_level"]["code"] == "postgres-wal-level"
    assert found["max_replication_slots"]["code"] == "postgres-limit"
    postgres_servers.discard(server)
