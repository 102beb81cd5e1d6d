"""Commands that cannot be carried out, or not to their end: capture goes on without them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from headwater.contract import Command, OwedState, Verb, Wish
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.asking import SHOP, quiet, reads, settled
from tests.integration.postgres.capturing import PATIENCE_S, capturing


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql(SHOP)
    return postgres_database


@pytest.mark.parametrize(
    ("table", "where", "code"),
    [
        ("nothing", None, "backfill-table"),
        ("secret", None, "backfill-table"),
        ("bare", None, "backfill-no-key"),
        ("u", "", "backfill-where"),
        ("u", "nosuch = 1", "backfill-where"),
        ("u", "id", "backfill-where"),
        ("u", "id = 1; DELETE FROM u", "backfill-where"),
        ("u", "true) OR (true", "backfill-where"),
        ("u", "true) UNION SELECT 1 FROM secret WHERE (true", "backfill-where"),
        ("u", "true) UNION SELECT 1 FROM u WHERE coalesce(true", "backfill-where"),
        ("u", "true) THEN true END UNION SELECT 1 WHERE CASE WHEN (true", "backfill-where"),
        ("u", "id = $1", "backfill-where"),
        ("u", "count(*) > 1", "backfill-where"),
        ("u", "1 / (1 - 1) = 1", "backfill-where"),
        ("u", "id IN (SELECT id FROM other_peoples)", "backfill-where"),
    ],
)
def test_a_command_is_refused_and_capture_goes_on_when_it_cannot_be_done(
    shop: PostgresDatabase, table: str, where: str | None, code: str
) -> None:
    shop.sql("CREATE TABLE other_peoples (id int); REVOKE ALL ON other_peoples FROM capture")
    config = quiet(shop, exclude=("secret", "other_peoples"))
    with capturing(config) as capture:
        asking = settled(capture)
        assert asking.refused(Verb.START, table, where=where) == code
        assert capture.place.snapshot is None
        shop.sql("INSERT INTO u VALUES (11, 11)")
        assert capture.until(1)[0].after == {"id": 11, "n": 11}


def test_the_same_rows_are_refused_while_they_are_read(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        assert asking.refused(Verb.START, "t") == "backfill-running"
        asking.ask(Verb.START, "t", where="id = 1")


def _fails_on_a_row(shop: PostgresDatabase) -> str:
    shop.sql("UPDATE t SET pad = 'not a number' WHERE id = 40")
    shop.sql("UPDATE t SET pad = '7' WHERE id < 40")
    return "pad::int = 7"


def _fails_later(shop: PostgresDatabase) -> str:
    shop.sql("ALTER TABLE t ADD COLUMN brief int")
    return "brief IS NULL"


@pytest.mark.parametrize("condition", [_fails_on_a_row, _fails_later])
def test_capture_goes_on_when_a_condition_fails_while_rows_are_read(
    shop: PostgresDatabase, condition: Callable[[PostgresDatabase], str]
) -> None:
    where = condition(shop)
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t", where=where)
        if condition is _fails_later:
            asking.chunk()
            shop.sql("ALTER TABLE t DROP COLUMN brief")
        asking.ask(Verb.START, "u")
        deadline = time.monotonic() + PATIENCE_S
        while (failed := asking.owed()["public.t"]).state is not OwedState.FAILED:
            capture.step(timeout_s=0.1)
            assert time.monotonic() < deadline
        assert failed.failure
        while len(reads(list(capture.log.events()), "u")) < 10:
            capture.step(timeout_s=0.1)
            assert time.monotonic() < deadline
        asking.ask(Verb.STOP)
        assert capture.place.snapshot is None


def test_reading_ends_when_its_table_is_dropped(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        assert "public.t" in asking.owed()
        shop.sql("DROP TABLE t")
        asking.finish()
        ended = asking.owed()["public.t"]
        assert (ended.state, bool(ended.failure)) == (OwedState.STOPPED, True)


def test_a_command_waits_when_the_first_load_is_not_over(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop, snapshot=True)) as capture:
        capture.step(timeout_s=5)
        capture.step(timeout_s=5)
        command = Command(1, Wish(verb=Verb.PAUSE))
        assert capture.source.take(command) is None
