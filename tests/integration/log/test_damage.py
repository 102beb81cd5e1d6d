"""A log file that was harmed: coded errors, nothing lost in silence, and the way back."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from headwater.errors import CorruptionError, FencedError, HeadwaterError, MachineError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.log import connection as log_connection
from headwater.testing.builders import IDENTITY, inserts, source_batch


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog.create(tmp_path / "events.hwlog")
    writer = log.writer(IDENTITY)
    for start in range(1, 1001, 100):
        writer.append(source_batch(inserts(start, 100), start + 99))
    cursor = log.cursor("billing")
    cursor.ack(50)
    cursor.close()
    writer.close()
    return log


def _sql(log: SqliteLog, statement: str) -> None:
    db = sqlite3.connect(log.path)
    db.execute(statement)
    db.commit()
    db.close()


def test_log_file_is_private_to_its_owner(log: SqliteLog) -> None:
    assert log.path.stat().st_mode & 0o777 == 0o600
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1001, 1), 1001))
    for side in log.path.parent.glob("events.hwlog*"):
        assert side.stat().st_mode & 0o077 == 0, side
    writer.close()


def test_reader_names_the_range_when_stored_bytes_changed(log: SqliteLog) -> None:
    _sql(log, "UPDATE segment SET payload = zeroblob(length(payload)) WHERE first_seq = 301")
    reader = log.reader()
    batches = reader.read(0)
    assert sum(len(next(batches)) for _ in range(3)) == 300
    with pytest.raises(CorruptionError, match="events 301 to 400") as caught:
        next(batches)
    assert caught.value.code == "log-corrupt"
    assert "headwater log repair" in caught.value.hint


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE segment SET last_seq = 399 WHERE first_seq = 301",
        "UPDATE segment SET closes = 0 WHERE first_seq = 301",
        "UPDATE segment SET checksum = randomblob(16) WHERE first_seq = 301",
        "DELETE FROM segment WHERE first_seq = 301",
    ],
)
def test_check_finds_each_kind_of_harm(log: SqliteLog, harm: str) -> None:
    assert log.check() == ()
    _sql(log, harm)
    assert log.check()[0].first_sequence == 301
    with pytest.raises(CorruptionError):
        list(log.reader().read(0))


def test_swapped_batches_are_damage_although_each_is_whole(log: SqliteLog) -> None:
    _sql(
        log,
        "UPDATE segment SET payload = (SELECT payload FROM segment WHERE first_seq = 401),"
        " checksum = (SELECT checksum FROM segment WHERE first_seq = 401)"
        " WHERE first_seq = 301",
    )
    with pytest.raises(CorruptionError, match="301"):
        list(log.reader().read(0))


def _flip_in_payload_pages(log: SqliteLog) -> None:
    with closing(sqlite3.connect(log.path)) as db:
        (payload,) = db.execute("SELECT payload FROM segment WHERE first_seq = 501").fetchone()
    data = bytearray(log.path.read_bytes())
    begin = data.index(payload[:64])
    for place in range(begin + 16, begin + 64):
        data[place] ^= 0xFF
    log.path.write_bytes(data)


def test_flipped_bits_on_disk_are_never_delivered(log: SqliteLog) -> None:
    reader = log.reader()
    whole = EventBatch.concat(list(reader.read(0)))
    reader.close()
    _flip_in_payload_pages(log)
    got: list[EventBatch] = []
    with pytest.raises(CorruptionError):
        got.extend(log.reader().read(0))
    assert EventBatch.concat(got).equals(whole.slice(0, sum(map(len, got))))


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9])
def test_truncated_file_is_a_coded_error(log: SqliteLog, keep: float) -> None:
    os.truncate(log.path, int(log.path.stat().st_size * keep))
    with pytest.raises(HeadwaterError) as caught:
        list(log.reader().read(0))
    assert caught.value.code in {"log-corrupt", "log-not-a-log"}


@pytest.mark.parametrize("content", [b"", b"hello\n" * 100, b"SQLite format 3\0" + b"\xff" * 200])
def test_file_that_is_no_log_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.hwlog"
    path.write_bytes(content)
    for act in (lambda: SqliteLog(path).reader(), lambda: SqliteLog(path).writer(IDENTITY)):
        with pytest.raises(HeadwaterError) as caught:
            act()
        assert caught.value.code in {"log-not-a-log", "log-corrupt"}
    assert path.read_bytes() == content


def test_newer_layout_is_refused(log: SqliteLog) -> None:
    _sql(log, "PRAGMA user_version = 99")
    with pytest.raises(MachineError, match="layout 99") as caught:
        log.reader()
    assert caught.value.code == "log-not-a-log"


def test_missing_log_is_a_coded_error(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        SqliteLog(tmp_path / "nothing.hwlog").reader()
    assert caught.value.code == "log-missing"
    assert not (tmp_path / "nothing.hwlog").exists()


_APPEND_UNTIL_ERROR = """
import sys
from pathlib import Path
from headwater.errors import HeadwaterError
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, inserts, source_batch
try:
    writer = SqliteLog(Path(sys.argv[1])).writer(IDENTITY)
    start = writer.head + 1
    print("open", flush=True)
    for n in range(start, start + 20000, 200):
        writer.append(source_batch(inserts(n, 200), n + 199))
        print(writer.head, flush=True)
except HeadwaterError as exc:
    print(exc.code)
"""


def _limit_file_size() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


def test_full_disk_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    """The process may write no file beyond a size: the same refusal as a disk without room."""
    path = tmp_path / "events.hwlog"
    SqliteLog.create(path)
    child = subprocess.run(
        [sys.executable, "-c", _APPEND_UNTIL_ERROR, str(path)],
        preexec_fn=_limit_file_size,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    *done, code = child.stdout.split()
    assert code in {"log-disk-full", "log-io"}, child.stderr
    acknowledged = int(done[-1])
    assert acknowledged > 0
    log = SqliteLog(path)
    assert log.check() == ()
    assert log.reader().bounds().head == acknowledged
    assert len(EventBatch.concat(list(log.reader().read(0)))) == acknowledged


def test_sqlite_full_becomes_disk_full(log: SqliteLog) -> None:
    writer = log.writer(IDENTITY)
    writer._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(MachineError) as caught:
        writer.append(source_batch(inserts(1001, 5000), 6000))
    assert caught.value.code == "log-disk-full"
    writer._db.execute("PRAGMA max_page_count = 1000000")
    assert writer.append(source_batch(inserts(1001, 5000), 6000)) == 6000
    writer.close()


_AS_NOBODY = textwrap.dedent("""
    import os, sys
    os.setgid(65534); os.setuid(65534)
""")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_read_only_log_is_a_coded_error_when_another_user_opens_it(log: SqliteLog) -> None:
    log.path.chmod(0o644)
    for parent in [log.path.parent, *log.path.parent.parents]:
        if parent.stat().st_mode & 0o005 != 0o005 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o005)
    code = "import headwater.log, headwater.testing.builders" + _AS_NOBODY + _APPEND_UNTIL_ERROR
    child = subprocess.run(
        [sys.executable, "-c", code, str(log.path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert child.stdout.split() == ["log-read-only"], child.stderr
    assert log.check() == ()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_connection, "BUSY_TIMEOUT_S", 0.1)


@pytest.mark.usefixtures("_impatient")
def test_locked_file_is_a_retryable_error_and_the_append_can_be_repeated(log: SqliteLog) -> None:
    writer = log.writer(IDENTITY)
    blocker = sqlite3.connect(log.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(HeadwaterError) as caught:
        writer.append(source_batch(inserts(1001, 5), 1005))
    assert caught.value.code == "log-busy"
    assert caught.value.retryable
    blocker.execute("ROLLBACK")
    assert writer.append(source_batch(inserts(1001, 5), 1005)) == 1005
    writer.close()


def test_stale_writer_cannot_commit_when_its_lock_was_lost(log: SqliteLog) -> None:
    """A lock file removed by hand lets a second writer in; the first is fenced by its epoch."""
    stale = log.writer(IDENTITY)
    log.path.with_name("events.hwlog.lock").unlink()
    fresh = log.writer(IDENTITY)
    with pytest.raises(FencedError) as caught:
        stale.append(source_batch(inserts(1001, 1), 1001))
    assert caught.value.code == "log-fenced"
    assert fresh.append(source_batch(inserts(1001, 1), 1001)) == 1001
    assert log.check() == ()


def test_salvage_keeps_everything_sound_and_refuses_to_hide_the_hole(log: SqliteLog) -> None:
    _sql(log, "UPDATE segment SET payload = x'00' WHERE first_seq IN (301, 401)")
    assert [(d.first_sequence, d.last_sequence) for d in log.salvage()] == [(301, 400), (401, 500)]
    assert log.path.with_name("events.hwlog.damaged").exists()
    assert log.cursor("billing").acked == 50
    with pytest.raises(CorruptionError, match="events 301 to 500"):
        list(log.reader().read(0))
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1001, 5), 1005))
    assert log.close_holes(writer.head) == 2
    numbers = EventBatch.concat(list(log.reader().read(0))).column("sequence_number").to_pylist()
    assert numbers == [*range(1, 301), *range(501, 1006)]
    assert log.check() == ()
    assert len(log.info().holes) == 2
    writer.close()


def test_salvage_waits_for_no_writer_and_clears_what_a_killed_one_left(log: SqliteLog) -> None:
    draft = log.path.with_name(f"{log.path.name}.0123.salvage")
    draft.write_bytes(b"half")
    writer = log.writer(IDENTITY)
    with pytest.raises(FencedError) as caught:
        log.salvage()
    assert caught.value.code == "log-locked"
    assert draft.exists()
    writer.close()
    assert log.salvage() == ()
    assert not draft.exists()
    assert log.check() == ()
