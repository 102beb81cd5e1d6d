"""`headwater checkpoint`: a log's places carried to another file, and all that is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.app.checkpoint import checksum
from headwater.contract import Verb, Wish
from headwater.event import Event
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, inserts, source_batch
from tests.fix_postgres import PostgresDatabase
from tests.integration.cli.conftest import Cli
from tests.shop import Shop, open_shop

FILE = "places.json"


@pytest.fixture
def log(cli: Cli) -> Path:
    path = cli.directory / "items.hwlog"
    log = SqliteLog.create(path)
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 30, tx_id=1), 30))
    writer.close()
    for name in ("billing", "search"):
        cursor = log.cursor(name, required=name == "billing")
        cursor.ack(30)
        cursor.close()
    return path


@pytest.fixture
def file(cli: Cli, log: Path) -> Path:
    assert cli("checkpoint", "export", log.name, FILE).code == 0
    return cli.directory / FILE


def rewritten(file: Path, **members: Any) -> None:
    """The file with other content, and a checksum that fits it."""
    content = json.loads(file.read_bytes()) | members
    file.write_text(json.dumps(content | {"content_checksum": checksum(content)}))


def test_file_is_that_of_the_first_producer_when_exported(file: Path) -> None:
    content = json.loads(file.read_bytes())
    assert list(content) == [
        "checkpoint_format_version", "source_type", "committed_event_count", "offset",
        "content_checksum",
    ]  # fmt: skip
    assert content["source_type"] == "scripted"
    assert content["committed_event_count"] == 30
    assert content["offset"]["change"] == 30
    assert file.stat().st_mode & 0o777 == 0o600


def test_checksum_is_of_the_compact_content_when_computed() -> None:
    content = {
        "checkpoint_format_version": 1,
        "source_type": "postgres",
        "committed_event_count": 42,
        "offset": {"slot_name": "grün", "lsn": 123456, "a": {"z": 1, "b": None}},
    }
    text = (
        '{"checkpoint_format_version":1,"source_type":"postgres","committed_event_count":42,'
        '"offset":{"a":{"b":null,"z":1},"lsn":123456,"slot_name":"grün"}}'
    )
    assert checksum(content) == hashlib.sha256(text.encode()).hexdigest()


def test_new_log_stands_where_the_old_one_stood_when_imported(
    cli: Cli, log: Path, file: Path
) -> None:
    done = cli("checkpoint", "import", file.name, "moved.hwlog")
    assert done.code == 0
    assert "the log goes on at event 30" in done.out
    old, new = SqliteLog(log).info(), SqliteLog(cli.directory / "moved.hwlog").info()
    same = ("log_id", "source", "position", "schemas")
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    assert (new.bounds.tail, new.bounds.head) == (31, 30)
    places = [(each.name, each.acked, each.required) for each in new.cursors]
    assert places == [("billing", 30, True), ("search", 30, False)]


def test_nothing_is_lost_or_doubled_when_capture_goes_on_in_the_new_log(cli: Cli) -> None:
    shop = open_shop(cli.directory)
    shop.run("INSERT INTO customers (id, name) VALUES (901, 'before')")
    head = shop.drain()
    assert cli("checkpoint", "export", shop.log.path.name, FILE).code == 0
    shop.run("INSERT INTO customers (id, name) VALUES (902, 'between')")
    assert cli("checkpoint", "import", FILE, "moved.hwlog").code == 0
    moved = Shop(shop.db, shop.path, SqliteLog(cli.directory / "moved.hwlog"))
    shop.run("INSERT INTO customers (id, name) VALUES (903, 'after')")
    assert moved.drain() == head + 2
    assert [(e.sequence_number, (e.after or {})["id"]) for e in events(moved.log)] == [
        (head + 1, 902), (head + 2, 903),
    ]  # fmt: skip
    known = {schema.schema_id for _, schema in moved.log.reader().schemas()}
    assert {event.schema_id for event in events(moved.log)} <= known
    assert moved.log.check() == ()


def events(log: SqliteLog) -> list[Event]:
    reader = log.reader()
    try:
        after = reader.bounds().tail - 1
        return [event for batch in reader.read(after) for event in batch]
    finally:
        reader.close()


def test_slot_and_lsn_are_in_the_file_when_the_source_is_postgres(
    cli: Cli, postgres_database: PostgresDatabase
) -> None:
    database = postgres_database
    database.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    database.sql(
        f"CREATE PUBLICATION headwater_{database.name}"
        " FOR TABLE ONLY t WITH (publish_via_partition_root)"
    )

    def captured(log: str) -> list[int]:
        found = []
        path = cli.directory / log
        with headwater.capture(database.dsn(), log=path, tables=["t"], until="head") as changes:
            for batch in changes:
                found += [event.after["id"] for event in batch if event.after]
                batch.ack()
        return found

    assert captured("a.hwlog") == [1]
    assert cli("checkpoint", "export", "a.hwlog").code == 0
    file = cli.directory / "checkpoint_postgres.json"
    offset = json.loads(file.read_bytes())["offset"]
    assert offset["lsn"] > 0
    assert offset["slot_name"].startswith("headwater_")
    database.sql("INSERT INTO t VALUES (2)")
    assert cli("checkpoint", "import", file.name, "b.hwlog").code == 0
    assert captured("b.hwlog") == [2]


def test_command_has_a_new_number_when_it_is_asked_of_the_new_log(
    cli: Cli, log: Path, file: Path
) -> None:
    numbers = [SqliteLog(log).commands().ask(Wish(verb=Verb.PAUSE)) for _ in range(3)]
    assert cli("checkpoint", "export", log.name, file.name, "--force").code == 0
    assert cli("checkpoint", "import", file.name, "moved.hwlog").code == 0
    moved = SqliteLog(cli.directory / "moved.hwlog")
    assert moved.commands().ask(Wish(verb=Verb.PAUSE)) == numbers[-1] + 1


def test_import_refuses_when_a_consumer_was_behind(cli: Cli, log: Path, file: Path) -> None:
    SqliteLog(log).rewind("search", 12)
    assert cli("checkpoint", "export", log.name, file.name, "--force").code == 0
    done = cli("checkpoint", "import", file.name, "moved.hwlog")
    assert done.code == 1
    assert "checkpoint-behind" in done.err
    assert "search had not read everything up to event 30" in done.err
    assert not (cli.directory / "moved.hwlog").exists()
    assert cli("checkpoint", "import", file.name, "moved.hwlog", "--source-only").code == 0
    assert SqliteLog(cli.directory / "moved.hwlog").info().cursors == ()


def test_import_refuses_when_the_log_is_in_use(cli: Cli, log: Path, file: Path) -> None:
    before = SqliteLog(log).info()
    done = cli("checkpoint", "import", file.name, log.name)
    assert done.code == 1
    assert "checkpoint-log-used" in done.err
    assert SqliteLog(log).info() == before


def test_import_refuses_when_the_log_belongs_to_another_source(cli: Cli, file: Path) -> None:
    from headwater.contract import SourceIdentity

    SqliteLog(cli.directory / "other.hwlog").writer(SourceIdentity("scripted", "x")).close()
    done = cli("checkpoint", "import", file.name, "other.hwlog")
    assert done.code == 2
    assert "log-other-source" in done.err


def test_import_refuses_when_a_writer_has_the_log(cli: Cli, file: Path) -> None:
    path = cli.directory / "busy.hwlog"
    writer = SqliteLog(path).writer(IDENTITY)
    try:
        done = cli("checkpoint", "import", file.name, path.name)
        assert done.code == 1
        assert "log-locked" in done.err
        assert SqliteLog(path).info().position is None
    finally:
        writer.close()
    assert cli("checkpoint", "import", file.name, path.name).code == 0


def test_export_warns_when_a_writer_goes_on(cli: Cli, log: Path) -> None:
    writer = SqliteLog(log).writer(IDENTITY)
    try:
        done = cli("checkpoint", "export", log.name)
    finally:
        writer.close()
    assert done.code == 0
    assert "goes on writing to the log" in done.out
    again = cli("checkpoint", "export", log.name)
    assert again.code == 2
    assert "file-exists" in again.err


def test_import_refuses_when_any_byte_of_the_content_was_changed(cli: Cli, file: Path) -> None:
    from headwater.app.checkpoint import import_checkpoint
    from headwater.errors import ConfigError, CorruptionError

    content = file.read_text()
    places = range(0, len(content), 29)
    for place in places:
        other = "7" if content[place] != "7" else "8"
        bent = content[:place] + other + content[place + 1 :]
        if _same(bent, content):
            continue
        file.write_text(bent)
        with pytest.raises((CorruptionError, ConfigError)):
            import_checkpoint(file, cli.directory / "moved.hwlog")
    assert not (cli.directory / "moved.hwlog").exists()


def _same(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"checkpoint_format_version": 2}, "checkpoint-invalid"),
        ({"committed_event_count": "30"}, "checkpoint-invalid"),
        ({"offset": {"lsn": 1, "slot_name": "x"}}, "checkpoint-invalid"),
        ({"offset": "0x0000002A0000019B0010"}, "checkpoint-invalid"),
        ({"offset": {"headwater": {"log_id": "x"}}}, "checkpoint-invalid"),
    ],
)
def test_import_refuses_when_the_file_is_not_of_a_log(
    cli: Cli, file: Path, members: dict[str, Any], code: str
) -> None:
    rewritten(file, **members)
    done = cli("checkpoint", "import", file.name, "moved.hwlog")
    assert done.code == 2
    assert code in done.err
    assert not (cli.directory / "moved.hwlog").exists()


def test_consumers_are_set_when_they_come_back_to_their_log(
    cli: Cli, log: Path, file: Path
) -> None:
    SqliteLog(log).remove_cursor("search")
    SqliteLog(log).rewind("billing", 3)
    assert cli("checkpoint", "import", file.name, log.name, "--cursors").code == 0
    places = {each.name: each.acked for each in SqliteLog(log).info().cursors}
    assert places == {"billing": 30, "search": 30}


def test_consumers_are_refused_when_they_would_go_back_or_elsewhere(
    cli: Cli, log: Path, file: Path
) -> None:
    writer = SqliteLog(log).writer(IDENTITY)
    writer.append(source_batch(inserts(31, 10, tx_id=2), 40))
    writer.close()
    cursor = SqliteLog(log).cursor("billing", required=True)
    cursor.ack(35)
    cursor.close()
    back = cli("checkpoint", "import", file.name, log.name, "--cursors")
    assert back.code == 1
    assert "cursor-backwards" in back.err
    SqliteLog.create(cli.directory / "other.hwlog")
    other = cli("checkpoint", "import", file.name, "other.hwlog", "--cursors")
    assert other.code == 1
    assert "checkpoint-other-log" in other.err


def test_export_refuses_when_the_log_has_no_position(cli: Cli) -> None:
    SqliteLog.create(cli.directory / "empty.hwlog")
    done = cli("checkpoint", "export", "empty.hwlog", FILE)
    assert done.code == 1
    assert "checkpoint-nothing" in done.err
    assert not (cli.directory / FILE).exists()
