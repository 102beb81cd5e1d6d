"""Preparing a PostgreSQL database: a first configuration, rights, publication, triggers."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Shop


def test_init_lists_the_tables_and_keeps_the_password_out_when_the_url_has_one(shop: Shop) -> None:
    shop.database.sql("CREATE TABLE keyless (a int)")
    done = shop("init", "new.yaml", "--from", shop.database.dsn())
    assert done.code == 0
    assert "public.keyless  no replica identity" in done.out
    assert "export DATABASE_URL='postgresql://capture:***@127.0.0.1" in done.out
    text = (shop.cli.directory / "new.yaml").read_text()
    assert "url: ${DATABASE_URL}" in text
    assert '- "public.customers"\n    - "public.orders"\n' in text
    assert "keyless" not in text
    assert f"slot: headwater_{shop.database.name}" in text
    assert shop("validate", "new.yaml").code == 0
    assert shop("validate", "new.yaml", DATABASE_URL="").code == 2


def test_validate_shows_no_password_when_it_dumps_the_configuration(shop: Shop) -> None:
    source = shop.result("validate", "shop.yaml")["config"]["source"]
    assert source["url"].startswith("postgresql://capture:***@127.0.0.1")


def test_setup_prints_every_statement_and_changes_nothing_when_it_is_a_dry_run(shop: Shop) -> None:
    owner = shop.database.dsn("app")
    done = shop("setup", "postgres", owner, "--role", "capture", "--dry-run")
    assert done.code == 0
    for part in (
        'GRANT SELECT ON "public"."orders" TO "capture";',
        f'CREATE PUBLICATION "headwater_{shop.database.name}" FOR TABLE ONLY "public"."customers"',
        "CREATE OR REPLACE FUNCTION headwater.context(facts jsonb) RETURNS void\nLANGUAGE sql",
        "CREATE EVENT TRIGGER headwater_altered",
    ):
        assert part in done.out
    assert shop.database.sql("SELECT count(*) FROM pg_publication") == [(0,)]
    assert shop.database.sql("SELECT to_regnamespace('headwater')") == [(None,)]


def test_setup_does_what_the_role_may_and_is_at_rest_when_repeated(shop: Shop) -> None:
    shop.database.sql("REVOKE SELECT ON customers, orders FROM capture")
    words = ("setup", "postgres", shop.database.dsn("app"), "--role", "capture")
    first = shop.result(*words)
    assert first["ready"]
    refused = {step["name"]: bool(step["refused"]) for step in first["steps"]}
    assert refused == {
        "rights": False,
        "publication": False,
        "context function": False,
        "event triggers": True,
    }
    shop.database.sql("SELECT count(*) FROM orders", user="capture")
    assert "publication" not in [step["name"] for step in shop.result(*words)["steps"]]
    as_superuser = shop.result("setup", "postgres", shop.database.dsn("postgres"))
    assert [(step["name"], step["refused"]) for step in as_superuser["steps"]] == [
        ("event triggers", "")
    ]
    assert shop.result("setup", "postgres", shop.database.dsn("postgres"))["steps"] == []


def test_setup_says_the_sql_and_fails_when_the_role_may_not_publish(shop: Shop) -> None:
    done = shop("setup", "postgres", shop.database.dsn())
    assert done.code == 1
    assert "CREATE PUBLICATION" in done.out
    assert "is not ready" in done.out


@pytest.mark.parametrize(
    ("sql", "words", "code"),
    [
        ("CREATE TABLE bare (a int)", (), "postgres-no-identity"),
        ("SELECT 1", ("--role", "nobody_here"), "postgres-role"),
        ("SELECT 1", ("--tables", "custmers"), "postgres-no-table"),
        ("SELECT 1", ("--publication", "Not-A-Name"), "config-invalid"),
    ],
)
def test_setup_is_refused_with_a_code_when_it_could_not_work(
    shop: Shop, sql: str, words: tuple[str, ...], code: str
) -> None:
    shop.database.sql(sql)
    done = shop("setup", "postgres", shop.database.dsn("app"), *words, "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == code


def test_setup_takes_everything_out_and_names_the_slots_left_when_uninstalled(
    prepared: Shop,
) -> None:
    assert prepared("run", "shop.yaml", "--once").code == 0
    words = ("setup", "postgres", prepared.database.dsn("app"), "--uninstall")
    outcome = prepared.result(*words)
    name = f"headwater_{prepared.database.name}"
    assert outcome == {"publication": name, "slots": [name]}
    assert prepared.database.sql("SELECT count(*) FROM pg_publication") == [(0,)]
    assert prepared.database.sql("SELECT to_regnamespace('headwater')") == [(None,)]
    assert prepared.result(*words)["publication"] is None
